//! The protocol's tables as rows of columns, without header and comments.

pub(crate) const FIELDS: &str = include_str!("../spec/fields.tsv");
pub(crate) const ENUMS: &str = include_str!("../spec/enums.tsv");
pub(crate) const LIFECYCLE: &str = include_str!("../spec/lifecycle.tsv");

pub(crate) fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let header = table.lines().find(|line| !line.starts_with('#')).filter(|line| !line.starts_with("create\t"));
    table
        .lines()
        .filter(move |line| !line.starts_with('#') && Some(*line) != header)
        .map(|line| line.split('\t').collect())
}
