//! What the file may say for cards, and what it may not.

use super::tests::{Folder, environment, of_environment, of_file, refused};
use super::*;
use engine::{Extended, ExtendedCard};

const WHOLE: &str = r#"
[[agent]]
name = "travel"
title = "Travel desk"
description = "Books trips."
version = "2.1.0"
documentation_url = "https://docs.example/travel"
icon_url = "https://docs.example/travel.png"
output_modes = ["text/plain", "application/pdf"]

[agent.provider]
organization = "Example"
url = "https://example.com"

[[agent.skills]]
id = "book"
name = "Book"
description = "Books a trip."
tags = ["travel", "booking"]
examples = ["A week in Rome"]
input_modes = ["text/plain"]
output_modes = ["application/pdf"]

[[agent.extensions]]
uri = "https://ext.example/loyalty/v1"
description = "Points."
required = true
params = { tiers = ["gold", "silver"], factor = 1.5, nested = { on = true, n = 3 } }

[agent.extended]
description = "Books trips for members."
[[agent.extended.skills]]
id = "upgrade"
name = "Upgrade"
description = "Upgrades a trip."
tags = ["travel"]
"#;

#[test]
fn an_agents_card_is_in_its_table() {
    let config = of_file(WHOLE).unwrap();
    let card = &config.settings.agents["travel"].card;
    assert_eq!((card.name.as_str(), card.version.as_str()), ("Travel desk", "2.1.0"));
    assert_eq!(card.provider.as_ref().unwrap().organization, "Example");
    assert_eq!(card.icon_url.as_deref(), Some("https://docs.example/travel.png"));
    assert_eq!(card.output_modes, ["text/plain", "application/pdf"]);
    let skill = &card.skills[0];
    assert_eq!((card.skills.len(), skill.id.as_str(), skill.output_modes.len()), (1, "book", 1));
    let extension = &card.extensions[0];
    assert!(extension.required);
    assert_eq!(
        serde_json::Value::Object(extension.params.clone().unwrap()),
        serde_json::json!({"tiers": ["gold", "silver"], "factor": 1.5, "nested": {"on": true, "n": 3}})
    );
    let Extended::Configured(ExtendedCard { description, skills, .. }) = &card.extended else {
        panic!("{:?}", card.extended)
    };
    assert_eq!((description.as_deref(), skills[0].id.as_str()), (Some("Books trips for members."), "upgrade"));
    assert_eq!(config.json()["agents"]["travel"]["skills"]["value"][0]["tags"][1], "booking");
    assert!(config.table().contains("agent.travel.provider.url"));
}

#[test]
fn an_extended_card_can_be_declared_and_missing_or_there_and_kept_back() {
    let extended = |more: &str| {
        let config = of_file(&format!("[[agent]]\nname = \"a\"\n{more}")).unwrap();
        config.settings.agents["a"].card.extended.clone()
    };
    assert_eq!(extended(""), Extended::Undeclared);
    assert_eq!(extended("extended_card = true"), Extended::Unconfigured);
    assert_eq!(extended("extended_card = false\n[agent.extended]\nversion = \"2\""), Extended::Undeclared);
    assert!(matches!(extended("[agent.extended]\nversion = \"2\""), Extended::Configured(_)));
}

#[test]
fn a_card_the_protocol_would_not_allow_is_refused_with_line_and_field() {
    let agent = |more: &str| format!("[[agent]]\nname = \"a\"\n{more}");
    let skill = "[[agent.skills]]\nid = \"s\"\nname = \"S\"\ndescription = \"D\"\n";
    refused(&agent(skill), &["taskyard.toml:3: `skills[0].tags` is required"]);
    refused(&agent(&format!("{skill}tags = []\n")), &["taskyard.toml:7: `skills[0].tags` is required"]);
    refused(
        &agent(&format!("{skill}tags = [\"\"]\nnmae = 1\nexamples = 7\ninput_modes = [\"text\"]\n")),
        &[
            "taskyard.toml:7: `skills[0].tags` is ``, wanted is a list of texts that are not empty",
            "taskyard.toml:8: unknown key `skills[0].nmae`; did you mean `name`?",
            "taskyard.toml:9: `skills[0].examples` is `7`, wanted is a list of texts that are not empty",
            "taskyard.toml:10: `skills[0].input_modes` is `text`, wanted is a list of media types, such as text/plain or image/*",
        ],
    );
    let tagged = format!("{skill}tags = [\"t\"]\n");
    refused(
        &agent(&format!("{tagged}{tagged}")),
        &["taskyard.toml:9: `skills[1].id` is `s`, which line 4 has already"],
    );
    refused(
        &agent("[[agent.skills]]\nid = \"\"\n"),
        &["taskyard.toml:4: `skills[0].id` is ``, wanted is text that is not empty"],
    );
    refused(
        &agent("[[agent.extended.skills]]\nid = \"x\"\n"),
        &[
            "taskyard.toml:3: `extended.skills[0].name` is required",
            "taskyard.toml:3: `extended.skills[0].description` is required",
            "taskyard.toml:3: `extended.skills[0].tags` is required",
        ],
    );
    refused(
        &agent("skills = []\ndescription = \"\"\nicon_url = \"icon.png\"\n"),
        &[
            "taskyard.toml:4: `description` is ``, wanted is text that is not empty",
            "taskyard.toml:5: `icon_url` is its value (not shown, it is a secret), wanted is a URL that begins with http:// or https://",
            "taskyard.toml:3: `skills` is empty, and a card has at least one; leave it out for a general one",
        ],
    );
    refused(
        &agent("[agent.provider]\nurl = \"https://example.com\"\n"),
        &["taskyard.toml:4: `provider.url` needs `provider.organization` beside it"],
    );
    refused(
        &agent("skills = 3\n"),
        &[
            "taskyard.toml:3: `skills` is `3`, wanted is a list of tables with id, name, description, tags, examples, input_modes, output_modes",
        ],
    );
    refused(
        &agent(
            "[[agent.extensions]]\nrequired = true\n[[agent.extensions]]\nuri = \"urn:a,b\"\nparams = { at = 2026-01-01 }\n",
        ),
        &[
            "taskyard.toml:3: `extensions[0].uri` is required",
            "taskyard.toml:6: `extensions[1].uri` is `urn:a,b`, wanted is an absolute URI without comma and blank",
            "taskyard.toml:7: `extensions[1].params` is `{\"at\":\"2026-01-01\"}`, wanted is a table of texts, numbers below 2^53, switches, lists and tables",
        ],
    );
}

/// A key of nobody's.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
                   MC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH\n\
                   -----END PRIVATE KEY-----\n";

const URL: (&str, &str) = ("TASKYARD_PUBLIC_URL", "https://yard.example");
const KEY: (&str, &str) = ("TASKYARD_CARDS_SIGNING_KEY", PEM);
const ID: (&str, &str) = ("TASKYARD_CARDS_KEY_ID", "k1");

#[test]
fn cards_are_signed_with_a_key_from_the_environment_or_a_file() {
    let config = of_environment(&[URL, KEY, ID]).unwrap();
    assert!(config.api.signer.is_some());
    assert!(!format!("{config:?} {}", config.table()).contains("MC4CAQ"));
    let folder = Folder::with(
        "public_url = \"https://yard.example\"\n[cards]\nsigning_key_file = \"key.pem\"\nkey_id = \"k1\"\n",
    );
    let load = || Config::load(&Flags::default(), &environment(&[]), &folder.0, false);
    let missing = load().unwrap_err().problems;
    assert!(missing[0].starts_with("taskyard.toml:3: `cards.signing_key_file` is `key.pem`, which cannot be read: "));
    std::fs::write(folder.0.join("key.pem"), PEM).unwrap();
    assert!(load().unwrap().api.signer.is_some());
    // In `dev` only this machine can ask.
    assert!(Config::load(&Flags::default(), &environment(&[KEY, ID]), &Folder::new().0, true).is_ok());
    assert!(of_environment(&[KEY, ID, ("TASKYARD_TRUST_FORWARDED", "true")]).is_ok());
}

#[test]
fn a_key_that_cannot_sign_cards_is_refused_without_showing_it() {
    let problems = |given: &[(&str, &str)]| of_environment(given).unwrap_err().problems;
    assert_eq!(
        problems(&[URL, KEY]),
        [
            "TASKYARD_CARDS_SIGNING_KEY: `cards.signing_key` needs `cards.key_id` beside it, by which verifiers find the key"
        ]
    );
    assert_eq!(
        problems(&[URL, ID]),
        [
            "TASKYARD_CARDS_KEY_ID: `cards.key_id` is set, and neither `cards.signing_key` nor `cards.signing_key_file` is"
        ]
    );
    assert_eq!(
        problems(&[KEY, ID]),
        [
            "TASKYARD_CARDS_SIGNING_KEY: `cards.signing_key` needs `public_url` (or `trust_forwarded`): else whoever asks for a card chooses the URLs that are signed"
        ]
    );
    let broken = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----";
    assert_eq!(
        problems(&[URL, ID, (KEY.0, broken)]),
        [
            "TASKYARD_CARDS_SIGNING_KEY: `cards.signing_key` cannot sign: the key is neither one of EC P-256 nor one of Ed25519"
        ]
    );
    assert_eq!(
        problems(&[URL, (KEY.0, "s3cret")]),
        [
            "TASKYARD_CARDS_SIGNING_KEY: `cards.signing_key` is its value (not shown, it is a secret), wanted is a private key in PEM, which begins with -----BEGIN"
        ]
    );
    let params = "public_url = \"https://yard.example\"\n[[agent]]\nname = \"a\"\n[[agent.extensions]]\nuri = \"urn:x\"\nparams = { a = { b = [] } }\n";
    let signed = Config::load(&Flags::default(), &environment(&[KEY, ID]), &Folder::with(params).0, false);
    assert_eq!(
        signed.unwrap_err().problems,
        [
            "taskyard.toml:6: `extensions[0].params` has an empty text, list or table, which verifiers of signed cards leave out; leave it out too"
        ]
    );
    assert!(of_file(params).is_ok());
}

#[test]
fn urls_and_origins_are_checked() {
    let problems = |name: &str, value: &str| of_environment(&[(name, value)]).unwrap_err().problems;
    for bad in ["yard.example", "https://yard.example/?a", "https://bob:x@yard.example", "ftp://yard.example"] {
        assert_eq!(problems("TASKYARD_PUBLIC_URL", bad).len(), 1, "{bad}");
    }
    for bad in ["app.example", "https://app.example/", "https://app.example/x", "https://APP.example"] {
        assert_eq!(problems("TASKYARD_CORS_ORIGINS", bad).len(), 1, "{bad}");
    }
    let given = [
        ("TASKYARD_CORS_ORIGINS", "https://app.example, http://localhost:3000"),
        ("TASKYARD_CARDS_MAX_AGE_SECONDS", "0"),
        ("TASKYARD_PUBLIC_URL", "https://yard.example/a2a/"),
    ];
    let api = of_environment(&given).unwrap().api;
    assert_eq!(api.cors_origins, ["https://app.example", "http://localhost:3000"]);
    assert_eq!((api.card_max_age, api.public_url.as_deref()), (Duration::ZERO, Some("https://yard.example/a2a/")));
    assert_eq!(of_environment(&[("TASKYARD_CORS_ORIGINS", "*")]).unwrap().api.cors_origins, ["*"]);
}
