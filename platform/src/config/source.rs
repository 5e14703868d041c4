//! Where values come from: the command line, the environment, the file, or the table itself.

use super::knob::{CONFIG_ENV, KNOBS};
use super::refusal::suggestion;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Who gave a value. The first of these wins: flag, variable, file, default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A flag of the command line.
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A line of the file.
    File(PathBuf, usize),
    /// `taskyard dev`, where its default is another one.
    Dev,
    /// Taken over from another knob, such as an agent's limit from the deployment's.
    Knob(&'static str),
    /// Nobody.
    Default,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Flag(name) => write!(f, "--{name}"),
            Source::Variable(name) => f.write_str(name),
            Source::File(path, line) => write!(f, "{}:{line}", path.display()),
            Source::Dev => f.write_str("dev"),
            Source::Knob(name) => f.write_str(name),
            Source::Default => f.write_str("default"),
        }
    }
}

/// The flags of every knob, as given. They are valid before and after the subcommand.
#[derive(Clone, Default)]
pub struct Flags {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// The others, by the knob's name.
    pub values: BTreeMap<&'static str, String>,
}

impl clap::FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &str| matches.get_one::<String>(name).cloned();
        Ok(Flags {
            config: matches.get_one::<PathBuf>("config-file").cloned(),
            values: KNOBS.iter().filter_map(|knob| Some((knob.name, given(knob.name)?))).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Flags {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new("config-file")
            .long("config")
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .global(true)
            .help_heading("Configuration")
            .help(format!("The configuration file [default: ./taskyard.toml, if there is one] [env: {CONFIG_ENV}]"));
        KNOBS.iter().fold(command.arg(file), |command, knob| {
            let default = knob.default.map(|value| format!(" [default: {value}]")).unwrap_or_default();
            let arg = Arg::new(knob.name)
                .long(knob.flag)
                .value_name(knob.kind.placeholder())
                .action(ArgAction::Set)
                .allow_hyphen_values(true)
                .global(true)
                .hide_short_help(!knob.common)
                .help_heading("Configuration")
                .help(format!("{}{default} [env: {}]", knob.doc, knob.env));
            let switch = knob.kind == super::kind::Kind::Switch;
            // What the file calls it is understood too.
            let name = knob.name.replace(['.', '_'], "-");
            let arg = if name == knob.flag { arg } else { arg.alias(name) };
            command.arg(if switch {
                arg.num_args(0..=1).require_equals(true).default_missing_value("true")
            } else {
                arg
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args(command)
    }
}

/// The environment, as far as it is ours. An empty variable counts as one that is not set.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, OsString>);

/// Variables of the test suite, which a process under test inherits.
const TEST_PREFIX: &str = "TASKYARD_TEST_";

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Environment {
        std::env::vars_os().collect()
    }

    /// The value of a variable, when it is set.
    pub(super) fn get(&self, name: &str, problems: &mut Vec<String>) -> Option<String> {
        let text = self.0.get(name)?.to_str();
        if text.is_none() {
            problems.push(format!("{name}: the value is not valid UTF-8"));
        }
        text.map(str::to_owned)
    }

    /// Reports every variable that has our prefix and no meaning.
    pub(super) fn check(&self, problems: &mut Vec<String>) {
        let known = || KNOBS.iter().map(|knob| knob.env).chain([CONFIG_ENV]);
        for name in self.0.keys() {
            if name.starts_with("TASKYARD_") && !name.starts_with(TEST_PREFIX) && !known().any(|known| known == name) {
                let bare = name.trim_start_matches("TASKYARD_");
                let meant = Some(suggestion(bare, known())).filter(|meant| !meant.is_empty());
                let meant = meant.unwrap_or_else(|| suggestion(name, known()));
                problems.push(format!("environment: unknown variable `{name}`{meant}"));
            }
        }
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(pairs: I) -> Self {
        let ours = |name: &str| name.starts_with("TASKYARD_") || KNOBS.iter().any(|knob| knob.env == name);
        Environment(
            pairs
                .into_iter()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
                .filter(|(name, value)| ours(name) && !value.is_empty())
                .collect(),
        )
    }
}
