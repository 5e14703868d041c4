//! Tests of what the file says of tenants, of running limits, and of an agent's settings for its workers.

use super::tests::{of_file, refused};
use engine::TenantSettings;
use serde_json::json;

#[test]
fn tenants_and_limits_come_from_the_file() {
    let config = of_file(
        "[[agent]]\nname = \"a\"\nmax_running = 7\nmax_running_per_tenant = 2\nserial_contexts = true\npriority_max = -1\nscheduling = false\n\
         [agent.settings]\nmodel = \"small\"\nfrom = 2026-01-31\nnested = { list = [1, 0.5, true] }\n\
         [[tenant]]\nname = \"acme\"\nweight = 3\n[[tenant]]\nname = \"idle\"\nmax_running = 4\n",
    )
    .unwrap();
    let agent = &config.settings.agents["a"];
    assert_eq!((agent.max_running, agent.max_running_per_tenant, agent.priority_max), (7, 2, -1));
    assert!(agent.serial_contexts && !agent.scheduling && agent.extensions().is_empty());
    let settings = json!({"model": "small", "from": "2026-01-31", "nested": {"list": [1, 0.5, true]}});
    assert_eq!(agent.settings.clone().map(serde_json::Value::Object), Some(settings.clone()));
    let tenant = |name: &str| config.settings.tenants[name];
    assert_eq!(tenant("acme"), TenantSettings { weight: 3, max_running: 0 });
    assert_eq!(tenant("idle"), TenantSettings { weight: 1, max_running: 4 });
    assert_eq!(config.json()["agents"]["a"]["settings"]["value"], settings);
    assert_eq!(config.json()["tenants"]["acme"]["weight"], json!({"value": 3, "source": "taskyard.toml:14"}));
    assert!(config.table().contains("tenant.idle.max_running"));
}

#[test]
fn wrong_tenants_and_settings_are_refused() {
    refused(
        "[[tenant]]\nweight = 0\n[[tenant]]\nname = \"tasks\"\n[[tenant]]\nname = \"a\"\n[[tenant]]\nname = \"a\"\n",
        &[
            "taskyard.toml:2: `weight` is `0`, wanted is a whole number from 1 to 100",
            "taskyard.toml:1: this `[[tenant]]` has no `name`",
            "taskyard.toml:4: `name` is `tasks`, wanted is 1 to 128 letters, digits, dots, dashes and underscores, a letter or digit first, and no word of a path",
            "taskyard.toml:8: the tenant `a` has a table already",
        ],
    );
    refused(
        "[[agent]]\nname = \"a\"\ndirect = true\nserial_contexts = true\nsettings = 3\n",
        &[
            "taskyard.toml:5: `settings` is `3`, wanted is a table of texts, numbers, switches, dates, lists and tables",
            "taskyard.toml:4: `serial_contexts` and `direct` are both true, wanted is one of them: a direct answer waits for no task",
        ],
    );
}
