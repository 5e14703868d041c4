//! Every check, by the name it has in the other suites too, in the order they run in.

mod cards;
mod errors;
mod push;
mod sends;
mod streams;
mod tasks;
mod turns;

use std::pin::Pin;

use crate::Checked;
use crate::suite::Suite;

type Check = fn(Suite) -> Pin<Box<dyn Future<Output = Checked> + Send>>;

macro_rules! checks {
    ($($name:literal: $check:path,)*) => {
        /// The name of each, and the check itself.
        pub(crate) const CHECKS: &[(&str, Check)] = &[$(($name, |on| Box::pin($check(on)))),*];
    };
}

checks! {
    "cards": cards::cards,
    "send and wait": sends::send_and_wait,
    "every kind of part": sends::every_kind_of_part,
    "send and poll": sends::send_and_poll,
    "stream": streams::stream,
    "subscribe": streams::subscribe_twice,
    "resubscribe": streams::resubscribe,
    "subscribe to a question": streams::subscribe_to_a_question,
    "several turns": turns::several_turns,
    "authorization": turns::authorization,
    "list with paging": tasks::list_with_paging,
    "cancel": tasks::cancel_it,
    "push configs": push::push_configs,
    "webhook": push::webhook,
    "extended card": cards::extended_card,
    "idempotency key": sends::idempotency_key,
    "error: task not found": errors::task_not_found,
    "error: not cancelable": errors::not_cancelable,
    "error: unsupported operation": errors::unsupported_operation,
    "error: content type": errors::content_type,
    "error: invalid params": errors::invalid_params,
    "error: push not supported": errors::push_not_supported,
    "error: no extended card": errors::no_extended_card,
    "error: extension required": errors::extension_required,
    "error: version not supported": errors::version_not_supported,
}
