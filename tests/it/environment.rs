//! What WASI lacks behaves as a program expects: one small program a rule, with what it prints and how it ends.

use serde_json::{Value, json};

use crate::harness::Server;

fn fixtures(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

async fn stdout(request: Value) -> String {
    let answer = Server::shared().execute(request).await;
    assert_eq!(answer["stderr_class"], "none", "{answer}");
    answer["stdout"].as_str().expect("text").to_owned()
}

#[tokio::test]
async fn each_program_sees_what_it_expects() {
    let mut differences = Vec::new();
    for fixture in fixtures(include_str!("../fixtures/environment.jsonl")) {
        let answer = Server::shared().execute(json!({"code": fixture["code"]})).await;
        let kind = fixture.get("exception").unwrap_or(&Value::Null);
        let seen = json!([answer["stdout"], answer["stderr_class"], answer["error"]["type"]]);
        let expected = json!([fixture["stdout"], fixture["stderr_class"], kind]);
        if seen != expected {
            differences.push(format!(
                "{}\n  expected {expected}\n  saw      {seen}\n  stderr   {}",
                fixture["name"], answer["stderr"]
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn randomness_is_fresh_in_each_run_and_repeats_with_a_seed() {
    let mut differences = Vec::new();
    for fixture in fixtures(include_str!("../fixtures/environment_randomness.jsonl")) {
        let fresh = json!({"code": fixture["code"]});
        let seeded = json!({"code": fixture["code"], "deterministic": {"seed": 5}});
        if stdout(fresh.clone()).await == stdout(fresh).await {
            differences.push(format!("{}: the same in two fresh runs", fixture["name"]));
        }
        if stdout(seeded.clone()).await != stdout(seeded).await {
            differences.push(format!("{}: not the same with the same seed", fixture["name"]));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[tokio::test]
async fn searches_and_long_f_strings_are_cheap() {
    for (code, most) in [
        ("(b'x' * (8 << 20)).find(b'y')", 40_000_000_u64),
        ("compile(\"f'\" + '{x} ' * 8160 + \"'\", 'a', 'eval')", 2_500_000_000),
    ] {
        let answer = Server::shared().execute(json!({"code": code})).await;
        let used = answer["fuel_used"].as_u64().expect("a number");
        assert!(answer["status"] == "ok" && used < most, "{code}: {used}");
    }
}
