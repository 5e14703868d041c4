//! Statements on lanes and deliveries from the notifier's side.
