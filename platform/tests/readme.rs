//! The README says what the repository holds.

const README: &str = include_str!("../../README.md");

#[test]
fn the_worker_in_the_readme_is_the_example() {
    assert!(README.contains(include_str!("../../examples/worker.py")), "paste examples/worker.py into README.md again");
}

#[test]
fn files_the_readme_names_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let links = README.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for link in links.filter(|link| !link.starts_with("http")) {
        assert!(root.join(link).exists(), "README.md links to `{link}`");
    }
}

#[test]
fn the_diagram_is_drawn_from_the_table() {
    let diagram = wire::lifecycle::mermaid();
    let architecture = include_str!("../../ARCHITECTURE.md");
    assert!(architecture.contains(&diagram), "put this into ARCHITECTURE.md:\n{diagram}");
}
