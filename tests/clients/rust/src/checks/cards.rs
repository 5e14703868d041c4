//! Cards, and that they lead to their own agents.

use a2a::{GetExtendedAgentCardRequest, TaskState, error_code};

use crate::Checked;
use crate::agent::texts;
use crate::suite::{BINDINGS, Suite, fails, get, request, send};

pub(super) async fn cards(on: Suite) -> Checked {
    let mut last = None;
    for (base, name) in [("", "demo"), ("/agents/demo", "demo"), ("/agents/plain", "plain")] {
        let (client, card) = on.card(base).await?;
        assert_eq!(card.name, name);
        for binding in BINDINGS {
            let of = |version: &str| {
                let interfaces = card.supported_interfaces.iter();
                interfaces.filter(|each| each.protocol_binding == binding && each.protocol_version == version).count()
            };
            assert_eq!(of("1.0"), 1, "one interface of {binding}: {:?}", card.supported_interfaces);
        }
        assert!(!card.description.is_empty() && !card.version.is_empty());
        assert!(!card.default_input_modes.is_empty() && !card.default_output_modes.is_empty());
        assert!(!card.skills.is_empty() && card.skills.iter().all(|skill| !skill.tags.is_empty()));
        // The card leads to its own agent, over this binding.
        let words = format!("to {name}");
        let task = send(&client, request(&words)).await?;
        assert_eq!((&task.status.state, texts(&task)), (&TaskState::Completed, vec![words]));
        last = Some(task.id);
    }
    // Nobody else's agent has that task.
    fails(error_code::TASK_NOT_FOUND, get(&on.here, &last.expect("a task of `plain`"), None).await);
    Ok(())
}

pub(super) async fn extended_card(on: Suite) -> Checked {
    let card = on.there.get_extended_agent_card(&GetExtendedAgentCardRequest { tenant: None }).await?;
    assert_eq!((&*card.name, &*card.description), ("demo", "The demo agent, for those who asked who it is."));
    Ok(())
}
