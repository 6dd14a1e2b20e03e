//! The machines that come with fsage: those of the papers, and two of today. Each is a TOML file that says where
//! every value comes from.

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../presets/hosts/", $name, ".toml")))),*]
    };
}

/// Name and TOML of every preset.
pub const PRESETS: [(&str, &str); 9] = embedded!(
    "pentium-120",
    "pentium-120-cffs",
    "pentium-pro-200",
    "sparcstation-2",
    "sparcstation-1",
    "sun-4-260",
    "pentium-4-1600",
    "linux-hdd",
    "linux-nvme",
);

/// The TOML of the preset of that name.
pub fn toml_of(name: &str) -> Option<&'static str> {
    let found = PRESETS.iter().find(|(preset, _)| *preset == name);
    found.map(|(_, text)| *text)
}
