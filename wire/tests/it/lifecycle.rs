//! The table of moves is lifecycle.tsv, for every move and every pair of states.

use crate::tsv::{LIFECYCLE, rows};
use std::collections::BTreeMap;
use wire::{MOVES, Move, TaskState};

/// Sources and target by the move's name, as the file has them.
fn table() -> BTreeMap<&'static str, (Vec<&'static str>, &'static str)> {
    let moves = rows(LIFECYCLE).filter(|row| row[0] != "create");
    moves.map(|row| (row[0], (row[3].split(',').collect(), row[4]))).collect()
}

fn name(state: TaskState) -> String {
    format!("{state:?}")
}

#[test]
fn every_pair_of_states_moves_as_the_table_says() {
    let table = table();
    assert_eq!(table.len(), MOVES.len());
    for from in TaskState::ALL {
        for to in TaskState::ALL {
            let expected: Vec<&str> = table
                .iter()
                .filter(|(_, (sources, target))| *target == name(to) && sources.contains(&name(from).as_str()))
                .map(|(step, _)| *step)
                .collect();
            let permitted: Vec<&str> = Move::ALL
                .into_iter()
                .filter(|step| step.target() == to && step.permitted_from(from))
                .map(Move::name)
                .collect();
            assert_eq!(permitted, expected, "{from:?} -> {to:?}");
        }
    }
}

#[test]
fn a_move_is_its_own_row() {
    for (step, row) in Move::ALL.into_iter().zip(MOVES) {
        assert_eq!((step, step.name(), step.target()), (row.step, row.name, row.target));
        assert_eq!(Move::from_name(row.name), Some(step));
        assert_eq!(step.sources(), row.sources);
    }
    assert_eq!(Move::ALL.len(), MOVES.len());
    assert_eq!(Move::from_name("create"), None);
}

#[test]
fn terminal_and_interrupted_states_are_the_specs() {
    use TaskState::*;
    for state in TaskState::ALL {
        assert_eq!(state.is_terminal(), matches!(state, Completed | Failed | Canceled | Rejected), "{state:?}");
        assert_eq!(state.is_interrupted(), matches!(state, InputRequired | AuthRequired), "{state:?}");
    }
}

#[test]
fn the_diagram_draws_every_move() {
    let diagram = wire::lifecycle::mermaid();
    assert!(diagram.starts_with("stateDiagram-v2\n    [*] --> Submitted\n"), "{diagram}");
    let mut arrows = 1;
    for (step, (sources, target)) in table() {
        for source in sources {
            assert!(diagram.contains(&format!("    {source} --> {target}: {step}\n")), "{source} {step}\n{diagram}");
            arrows += 1;
        }
    }
    assert_eq!(diagram.matches("-->").count(), arrows + 4, "{diagram}");
}
