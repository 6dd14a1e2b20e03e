//! The columns of `days.parquet`: those of the replay stand here, those of metrics follow from their list.

use crate::error::bail;
use fsage_data::table::{Column, ColumnKind, RunClass, SizeClass, Table, Value};
use fsage_metrics::metric::Value as Found;
use fsage_metrics::{METRICS, Metric, Number, Numbers, directory_order, files, free_space, log};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::LazyLock;

/// A field of [`DayRow`] as a value of the table.
trait Cell: Sized {
    const KIND: ColumnKind;
    fn to_value(&self) -> Value;
    /// `None` if the value is of another kind.
    fn from_value(value: &Value) -> Option<Self>;
    /// What stands for a column that an older run does not have; `None` where every run has it.
    fn absent() -> Option<Self> {
        None
    }
}

impl Cell for u64 {
    const KIND: ColumnKind = ColumnKind::U64;

    fn to_value(&self) -> Value {
        Value::U64(*self)
    }

    fn from_value(value: &Value) -> Option<u64> {
        match value {
            Value::U64(n) => Some(*n),
            _ => None,
        }
    }
}

impl Cell for f64 {
    const KIND: ColumnKind = ColumnKind::F64;

    fn to_value(&self) -> Value {
        Value::F64(*self)
    }

    fn from_value(value: &Value) -> Option<f64> {
        match value {
            Value::F64(x) => Some(*x),
            _ => None,
        }
    }
}

/// What may be unknown is null in the table.
impl<T: Cell + Copy> Cell for Option<T>
where
    Value: From<Option<T>>,
{
    const KIND: ColumnKind = T::KIND;

    fn to_value(&self) -> Value {
        (*self).into()
    }

    fn from_value(value: &Value) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            other => T::from_value(other).map(Some),
        }
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl Cell for String {
    const KIND: ColumnKind = ColumnKind::Text;

    fn to_value(&self) -> Value {
        self.as_str().into()
    }

    fn from_value(value: &Value) -> Option<String> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl Cell for Vec<SizeClass> {
    const KIND: ColumnKind = ColumnKind::SizeClasses;

    fn to_value(&self) -> Value {
        Value::SizeClasses(self.clone())
    }

    fn from_value(value: &Value) -> Option<Vec<SizeClass>> {
        match value {
            Value::SizeClasses(classes) => Some(classes.clone()),
            _ => None,
        }
    }
}

impl Cell for Vec<RunClass> {
    const KIND: ColumnKind = ColumnKind::RunClasses;

    fn to_value(&self) -> Value {
        Value::RunClasses(self.clone())
    }

    fn from_value(value: &Value) -> Option<Vec<RunClass>> {
        match value {
            Value::RunClasses(classes) => Some(classes.clone()),
            _ => None,
        }
    }

    fn absent() -> Option<Vec<RunClass>> {
        Some(Vec::new())
    }
}

/// Makes the row of a list of columns that are no metrics; one may name the metric behind which it stands.
macro_rules! day_row {
    ($($(#[$doc:meta])* $name:ident: $kind:ty $(=> $metric:path)?,)*) => {
        /// One row of `days.parquet`: a target at the end of a day. A layout that is no day has 0 operations.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct DayRow {
            $($(#[$doc])* pub $name: $kind,)*
            /// The metrics of the layout.
            pub metrics: Numbers,
            /// Those of the unaged control that are compared with it.
            pub control: Numbers,
        }

        /// Columns that are no metrics: name, kind, and the metric behind which it stands.
        const OWN: &[(&str, ColumnKind, Option<&Metric>)] = &[$((
            stringify!($name),
            <$kind as Cell>::KIND,
            { let behind: &[&Metric] = &[$(&$metric)?]; behind.first().copied() },
        ),)*];

        impl DayRow {
            fn own(&self, name: &str) -> Value {
                match name {
                    $(stringify!($name) => self.$name.to_value(),)*
                    _ => Value::Null,
                }
            }

            /// `false` if the column is of another kind.
            fn set_own(&mut self, name: &str, value: &Value) -> bool {
                match name {
                    $(stringify!($name) => Cell::from_value(value).map(|value| self.$name = value).is_some(),)*
                    _ => false,
                }
            }

            /// `false` if every run has the column.
            fn leave_own(&mut self, name: &str) -> bool {
                match name {
                    $(stringify!($name) => Cell::absent().map(|value| self.$name = value).is_some(),)*
                    _ => false,
                }
            }

            fn set_own_of_json<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
                match name {
                    $(stringify!($name) => self.$name = map.next_value()?,)*
                    _ => { map.next_value::<IgnoredAny>()?; }
                }
                Ok(())
            }
        }
    };
}

day_row! {
    /// 0, 1, 2, ...
    day: u64,
    /// The day's label in the workload.
    label: String,
    /// Time of its last event, seconds since the workload's epoch.
    t_s: Option<f64>,
    /// Operations, those skipped included.
    operations: u64,
    /// Operations that were not done, not counting those that the file system does not know.
    skipped: u64,
    /// Bytes written by those that were done.
    bytes_written: u64,
    /// Skipped for lack of space.
    no_space: u64,
    /// Skipped for lack of inodes.
    no_inode: u64,
    /// Skipped because the file would be too large.
    too_large: u64,
    /// Skipped because an earlier lack of space kept the file or directory from being made.
    absent: u64,
    /// Skipped because the file system does not know them.
    ignored: u64,
    /// Skipped, in lenient mode, because they did not fit the state.
    invalid: u64,
    /// Bytes of live files that the plan of the workload wanted.
    planned_bytes: Option<u64> => files::LIVE_BYTES,
    /// Layout score by file size.
    layout_by_size: Vec<SizeClass> => free_space::BYTES_IN_1M_RUNS,
    /// Free space by length of run.
    free_by_length: Vec<RunClass> => directory_order::NEXT_FILE_BYTES,
    /// Segments with data by their live bytes, a tenth of a segment a class.
    segments_by_live_bytes: Vec<RunClass> => log::LIVE_SHARE,
}

/// A column of the days.
struct DayColumn {
    name: String,
    kind: ColumnKind,
    of: Of,
}

/// What a column holds: a metric is meant by its place in the list.
#[derive(Clone, Copy)]
enum Of {
    /// What is no metric.
    Own(&'static str),
    /// A metric.
    Aged(usize),
    /// That of the control.
    Control(usize),
    /// The one as a multiple of the other.
    Ratio(usize),
}

/// All columns, in their order.
static COLUMNS: LazyLock<Vec<DayColumn>> = LazyLock::new(columns);

fn columns() -> Vec<DayColumn> {
    let mut columns = Vec::new();
    let own = |columns: &mut Vec<DayColumn>, behind: Option<&Metric>| {
        let places = OWN.iter();
        let places = places.filter(|(.., place)| place.map(|m| m.id) == behind.map(|m| m.id));
        columns.extend(places.map(|&(name, kind, _)| DayColumn {
            name: name.to_owned(),
            kind,
            of: Of::Own(name),
        }));
    };
    own(&mut columns, None);
    let mut metrics: Vec<(usize, &Metric)> = METRICS.iter().copied().enumerate().collect();
    metrics.sort_by_key(|(_, metric)| metric.generation);
    for (place, metric) in metrics {
        columns.push(DayColumn {
            name: metric.id.to_owned(),
            kind: kind(metric),
            of: Of::Aged(place),
        });
        own(&mut columns, Some(metric));
    }
    for (place, metric) in METRICS.iter().enumerate().filter(|(_, m)| m.has_control) {
        columns.push(DayColumn {
            name: format!("control_{}", metric.id),
            kind: kind(metric),
            of: Of::Control(place),
        });
        columns.extend(metric.ratio.map(|name| DayColumn {
            name: name.to_owned(),
            kind: ColumnKind::F64,
            of: Of::Ratio(place),
        }));
    }
    columns
}

fn of_layout() -> impl Iterator<Item = &'static DayColumn> {
    let columns = COLUMNS.iter();
    columns.filter(|column| matches!(column.of, Of::Aged(_)) || !column.kind.is_plain())
}

fn kind(metric: &Metric) -> ColumnKind {
    match metric.value {
        Found::Count(_) => ColumnKind::U64,
        Found::Real(_) => ColumnKind::F64,
    }
}

fn column(name: &str) -> Option<&'static DayColumn> {
    COLUMNS.iter().find(|column| column.name == name)
}

/// Whether days have a column of that name.
pub(crate) fn is_column(name: &str) -> bool {
    column(name).is_some()
}

/// The metric that a column is of, be it that of the control, or the one as a multiple of the other.
pub fn metric_of(name: &str) -> Option<&'static Metric> {
    match column(name)?.of {
        Of::Own(_) => None,
        Of::Aged(place) | Of::Control(place) | Of::Ratio(place) => Some(METRICS[place]),
    }
}

fn value(number: Option<Number>) -> Value {
    match number {
        Some(Number::Count(count)) => Value::U64(count),
        Some(Number::Real(real)) => Value::F64(real),
        None => Value::Null,
    }
}

impl DayRow {
    pub(crate) fn columns() -> Vec<Column> {
        let columns = COLUMNS.iter();
        columns.map(|c| Column::new(&c.name, c.kind)).collect()
    }

    pub(crate) fn values(&self) -> Vec<Value> {
        COLUMNS.iter().map(|column| self.at(column.of)).collect()
    }

    /// The columns that say how files lie, without those of the replay and of the control.
    pub(crate) fn layout_columns() -> Vec<Column> {
        let columns = of_layout();
        columns.map(|c| Column::new(&c.name, c.kind)).collect()
    }

    pub(crate) fn layout_values(&self) -> Vec<Value> {
        of_layout().map(|column| self.at(column.of)).collect()
    }

    fn at(&self, of: Of) -> Value {
        match of {
            Of::Own(name) => self.own(name),
            Of::Aged(place) => value(self.metrics.at(place)),
            Of::Control(place) => value(self.control.at(place)),
            Of::Ratio(place) => self.ratio(METRICS[place]).into(),
        }
    }

    /// Names of the columns that hold a number.
    pub fn numbers() -> Vec<&'static str> {
        let is_number = |c: &&DayColumn| matches!(c.kind, ColumnKind::U64 | ColumnKind::F64);
        let numbers = COLUMNS.iter().filter(is_number);
        numbers.map(|column| column.name.as_str()).collect()
    }

    /// The value of a column; `None` where it is not known or no number. Where no block is scored, a layout score
    /// says nothing.
    pub fn number(&self, column_name: &str) -> Option<f64> {
        let of = column(column_name)?.of;
        if let Of::Aged(place) = of {
            return self.value(METRICS[place]);
        }
        match self.at(of) {
            Value::U64(number) => Some(number as f64),
            Value::F64(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn read(table: &Table, row: &[Value]) -> crate::Result<DayRow> {
        let mut day = DayRow::default();
        for column in COLUMNS.iter() {
            let name = &column.name;
            let there = table.column(name).map(|at| &row[at]);
            let (fits, may_lack) = match column.of {
                Of::Own(name) => match there {
                    Some(value) => (day.set_own(name, value), true),
                    None => (true, day.leave_own(name)),
                },
                Of::Aged(place) => {
                    let in_every_run = METRICS[place].generation == 0;
                    (set(&mut day.metrics, place, there), !in_every_run)
                }
                Of::Control(place) => (set(&mut day.control, place, there), true),
                // It follows from the two.
                Of::Ratio(_) => (true, true),
            };
            if let (false, Some(value)) = (fits, there) {
                bail!("column `{name}` holds {value:?}");
            }
            if there.is_none() && !may_lack {
                bail!("no column `{name}`");
            }
        }
        Ok(day)
    }
}

/// Sets a metric where it is known; `false` if the value is of another kind.
fn set(numbers: &mut Numbers, place: usize, value: Option<&Value>) -> bool {
    let number = match (value, METRICS[place].value) {
        (None | Some(Value::Null), _) => return true,
        (Some(Value::U64(count)), Found::Count(_)) => Number::Count(*count),
        (Some(Value::F64(real)), Found::Real(_)) => Number::Real(*real),
        _ => return false,
    };
    numbers.set_at(place, number);
    true
}

impl Serialize for DayRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(COLUMNS.len()))?;
        for column in COLUMNS.iter() {
            let name = &column.name;
            match self.at(column.of) {
                Value::Null => map.serialize_entry(name, &()),
                Value::U64(number) => map.serialize_entry(name, &number),
                Value::F64(number) => map.serialize_entry(name, &number),
                Value::Text(text) => map.serialize_entry(name, &text),
                Value::SizeClasses(classes) => map.serialize_entry(name, &classes),
                Value::RunClasses(classes) => map.serialize_entry(name, &classes),
            }?;
        }
        map.end()
    }
}

/// What is missing is not known, and what has no column is passed over.
impl<'de> Deserialize<'de> for DayRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DayRow, D::Error> {
        struct Row;

        impl<'de> Visitor<'de> for Row {
            type Value = DayRow;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the columns of a day")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DayRow, A::Error> {
                let mut day = DayRow::default();
                while let Some(name) = map.next_key::<String>()? {
                    match column(&name).map(|column| column.of) {
                        Some(Of::Own(name)) => day.set_own_of_json(name, &mut map)?,
                        Some(Of::Aged(place)) => of_json(&mut day.metrics, place, &mut map)?,
                        Some(Of::Control(place)) => of_json(&mut day.control, place, &mut map)?,
                        Some(Of::Ratio(_)) | None => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(day)
            }
        }

        deserializer.deserialize_map(Row)
    }
}

fn of_json<'de, A: MapAccess<'de>>(
    numbers: &mut Numbers,
    place: usize,
    map: &mut A,
) -> Result<(), A::Error> {
    let number = match METRICS[place].value {
        Found::Count(_) => map.next_value::<Option<u64>>()?.map(Number::Count),
        Found::Real(_) => map.next_value::<Option<f64>>()?.map(Number::Real),
    };
    if let Some(number) = number {
        numbers.set_at(place, number);
    }
    Ok(())
}
