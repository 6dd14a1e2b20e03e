//! The devices that come with fsage: the drives of the papers, one of today, ten that were measured, and flash devices.
//! Each is a TOML file that says where every value comes from.

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../presets/disks/", $name, ".toml")))),*]
    };
}

/// Name and TOML of every drive with an arm: first the drives of the papers, then one of today, then those with
/// measured traces.
pub const PRESETS: [(&str, &str); 24] = embedded!(
    "st32430n",
    "m2694",
    "m2694_overhead",
    "dsp3105",
    "wren4",
    "hpc3653",
    "barracuda9",
    "atlas2",
    "st31200",
    "st31200_overhead",
    "c2247",
    "st32171w",
    "st340016a",
    "st4000nm0033",
    "hp_c2247a",
    "hp_c2490a",
    "hp_c3323a",
    "dec_rz26",
    "barracuda",
    "cheetah4LP",
    "cheetah9LP",
    "ibm18es",
    "atlas10k",
    "atlas_III",
);

/// Name and TOML of every flash device.
pub const FLASH_PRESETS: [(&str, &str); 10] = embedded!(
    "nvme_mlc",
    "nvme_mlc_p1",
    "emu24",
    "emu24_affinity",
    "nvme_tlc",
    "sata_tlc",
    "ufs31",
    "emmc51",
    "nvme_a",
    "nvme_b",
);

/// The TOML of the flash device of that name.
pub fn flash_toml_of(name: &str) -> Option<&'static str> {
    let found = FLASH_PRESETS.iter().find(|(preset, _)| *preset == name);
    found.map(|(_, text)| *text)
}

/// The TOML of the drive of that name.
pub fn toml_of(name: &str) -> Option<&'static str> {
    let found = PRESETS.iter().find(|(preset, _)| *preset == name);
    found.map(|(_, text)| *text)
}
