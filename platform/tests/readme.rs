//! The README says what the repository holds.

const README: &str = include_str!("../../README.md");

#[test]
fn what_the_readme_shows_are_the_examples() {
    for (name, fence, example) in [
        ("agent.py", "python", include_str!("../../examples/agent.py")),
        ("executor.py", "python", include_str!("../../examples/executor.py")),
        ("worker.py", "python", include_str!("../../examples/worker.py")),
        ("call-http.sh", "sh", include_str!("../../examples/call-http.sh")),
        ("call-jsonrpc.py", "python", include_str!("../../examples/call-jsonrpc.py")),
        ("call-grpc.mjs", "js", include_str!("../../examples/call-grpc.mjs")),
        ("shout.rs", "rust", include_str!("../../worker/examples/shout.rs")),
    ] {
        assert!(
            README.contains(&format!("```{fence}\n{example}```")),
            "paste {name} of the examples into README.md again"
        );
    }
}

#[test]
fn what_the_python_package_shows_is_an_example() {
    let readme = include_str!("../../clients/python/README.md");
    let example = include_str!("../../examples/agent.py");
    assert!(
        readme.contains(&format!("```python\n{example}```")),
        "paste examples/agent.py into clients/python/README.md again"
    );
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
