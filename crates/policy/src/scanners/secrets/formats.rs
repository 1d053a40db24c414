//! The formats that providers give their secrets, so that they can be found.

use std::sync::OnceLock;

use regex::Regex;

/// Format of a provider's secret.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Rule of its matches.
    pub(super) rule: &'static str,
    /// Anchor that the automaton looks for. Each format has its own.
    pub(super) anchor: &'static str,
    /// Characters of the secret before the anchor.
    pub(super) lead: usize,
    /// The whole secret. It has only ASCII in it, and its repetitions are bounded.
    pattern: &'static str,
    /// Bits a character that what follows the anchor must hold; less was written by hand.
    pub(super) least_entropy: f64,
    /// Unless it is a placeholder.
    pub(super) confidence: f64,
    /// Check that the secret itself must pass.
    pub(super) check: Check,
    /// Reason given with a match.
    pub(super) reason: &'static str,
}

/// Check of a secret that needs no provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing but that it looks random.
    None,
    /// Checksum in the last six characters.
    Checksum,
}

impl Format {
    const fn new(
        rule: &'static str,
        anchor: &'static str,
        pattern: &'static str,
        confidence: f64,
        reason: &'static str,
    ) -> Self {
        Self { rule, anchor, lead: 0, pattern, least_entropy: 2.8, confidence, check: Check::None, reason }
    }

    const fn with_checksum(rule: &'static str, anchor: &'static str, pattern: &'static str) -> Self {
        Self { check: Check::Checksum, ..Self::new(rule, anchor, pattern, 1.0, "") }
    }

    const fn after(self, lead: usize) -> Self {
        Self { lead, ..self }
    }
}

/// Matches the format with this index in [`FORMATS`], at the start of a text only.
pub(super) fn regex(index: usize) -> &'static Regex {
    static COMPILED: [OnceLock<Regex>; FORMATS.len()] = [const { OnceLock::new() }; FORMATS.len()];
    COMPILED[index].get_or_init(|| {
        let pattern = format!(r"\A(?:{})", FORMATS[index].pattern);
        Regex::new(&pattern).expect("a test compiles every pattern of this table")
    })
}

const GITHUB: &str = "github_token";
const OPENAI: &str = r"sk-(?:(?:proj|svcacct|admin)-)?[A-Za-z0-9_-]{20,74}T3BlbkFJ[A-Za-z0-9_-]{20,74}";

/// Sources: the providers' pages on their tokens, and the partners' list of "Supported secret scanning patterns"
/// (docs.github.com).
pub(super) const FORMATS: &[Format] = &[
    Format::with_checksum(GITHUB, "ghp_", "ghp_[A-Za-z0-9]{36}"),
    Format::with_checksum(GITHUB, "gho_", "gho_[A-Za-z0-9]{36}"),
    Format::with_checksum(GITHUB, "ghu_", "ghu_[A-Za-z0-9]{36}"),
    Format::with_checksum(GITHUB, "ghs_", "ghs_[A-Za-z0-9]{36}"),
    Format::with_checksum(GITHUB, "ghr_", "ghr_[A-Za-z0-9]{36,76}"),
    Format::new(GITHUB, "github_pat_", "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}", 0.97, "A GitHub token."),
    Format::with_checksum("npm_token", "npm_", "npm_[A-Za-z0-9]{36}"),
    // A macaroon in base64: version 2, and where it holds.
    Format::new("pypi_token", "pypi-Ag", "pypi-AgE[IN][A-Za-z0-9_-]{60,400}", 0.97, "A token of PyPI."),
    Format::new(
        "gitlab_token",
        "glpat-",
        r"glpat-[A-Za-z0-9_-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{9}|\.[0-9a-z]{9})?",
        0.95,
        "A GitLab token.",
    ),
    Format::new("gitlab_token", "gldt-", "gldt-[A-Za-z0-9_-]{20}", 0.9, "A deploy token of GitLab."),
    Format::new("gitlab_token", "glrt-", r"glrt-[A-Za-z0-9_.-]{20,50}", 0.9, "A runner token of GitLab."),
    Format::new("gitlab_token", "glcbt-", "glcbt-[0-9a-zA-Z]{1,5}_[0-9a-zA-Z_-]{20}", 0.9, "A job token of GitLab."),
    Format::new("aws_access_key", "AKIA", "AKIA[A-Z2-7]{16}", 0.9, "An access key of AWS."),
    Format::new("aws_access_key", "ASIA", "ASIA[A-Z2-7]{16}", 0.85, "A temporary access key of AWS."),
    Format::new("aws_bedrock_key", "ABSK", "ABSK[A-Za-z0-9+/]{109,269}={0,2}", 0.95, "A Bedrock key of AWS."),
    Format::new("google_api_key", "AIza", "AIza[A-Za-z0-9_-]{35}", 0.95, "A Google API key."),
    Format::new("google_oauth_secret", "GOCSPX-", "GOCSPX-[A-Za-z0-9_-]{28}", 0.95, "An OAuth secret of Google."),
    Format::new("google_oauth_token", "ya29.", r"ya29\.[A-Za-z0-9_-]{50,400}", 0.85, "An access token of Google."),
    Format::new("openai_key", "sk-", OPENAI, 0.97, "An OpenAI API key."),
    Format::new("openai_key", "sk-proj-", "sk-proj-[A-Za-z0-9_-]{100,200}", 0.9, "An OpenAI API key."),
    Format::new(
        "anthropic_key",
        "sk-ant-",
        "sk-ant-[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{80,120}",
        0.97,
        "An Anthropic API key.",
    ),
    Format::new("openrouter_key", "sk-or-v1-", "sk-or-v1-[0-9a-f]{64}", 0.97, "An OpenRouter API key."),
    Format::new("hugging_face_token", "hf_", "hf_[A-Za-z]{34}", 0.95, "A Hugging Face token."),
    Format::new("hugging_face_token", "api_org_", "api_org_[A-Za-z]{34}", 0.9, "A Hugging Face token."),
    Format::new("e2b_key", "e2b_", "e2b_[0-9a-f]{40}", 0.97, "An E2B API key."),
    Format::new("groq_key", "gsk_", "gsk_[A-Za-z0-9]{52}", 0.95, "A Groq API key."),
    Format::new("xai_key", "xai-", "xai-[A-Za-z0-9]{80}", 0.95, "An xAI API key."),
    Format::new("perplexity_key", "pplx-", "pplx-[A-Za-z0-9]{48}", 0.95, "A Perplexity API key."),
    Format::new("replicate_token", "r8_", "r8_[A-Za-z0-9]{37}", 0.95, "A Replicate token."),
    Format::new("langsmith_key", "lsv2_", "lsv2_[ps][tk]_[0-9a-f]{32}_[0-9a-f]{10}", 0.97, "A LangSmith API key."),
    Format::new("slack_token", "xox", r"xox[abposre]\.?(?:xox[bp])?-[0-9A-Za-z-]{24,250}", 0.93, "A Slack token."),
    Format::new(
        "slack_token",
        "xapp-",
        "xapp-[0-9]-[A-Z0-9]{8,16}-[0-9]{8,16}-[0-9a-f]{40,80}",
        0.97,
        "A Slack token.",
    ),
    Format::new(
        "slack_webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Z0-9]{8,12}/[A-Za-z0-9]{8,20}/[A-Za-z0-9]{20,40}",
        0.95,
        "A webhook of Slack.",
    ),
    Format::new(
        "discord_webhook",
        "discord.com/api/webhooks/",
        r"discord\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,80}",
        0.95,
        "A webhook of Discord.",
    ),
    Format::new(
        "discord_webhook",
        "discordapp.com/api/webhooks/",
        r"discordapp\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,80}",
        0.95,
        "A webhook of Discord.",
    ),
    Format::new("stripe_key", "sk_live_", "sk_live_[A-Za-z0-9]{16,200}", 0.97, "A live key of Stripe."),
    Format::new("stripe_key", "rk_live_", "rk_live_[A-Za-z0-9]{16,200}", 0.97, "A live key of Stripe."),
    Format::new("stripe_test_key", "sk_test_", "sk_test_[A-Za-z0-9]{16,200}", 0.6, "A test key of Stripe."),
    Format::new("stripe_test_key", "rk_test_", "rk_test_[A-Za-z0-9]{16,200}", 0.6, "A test key of Stripe."),
    Format::new(
        "stripe_webhook_secret",
        "whsec_",
        "whsec_[A-Za-z0-9+/]{32,64}={0,2}",
        0.85,
        "A signing secret of a webhook.",
    ),
    Format::new("sendgrid_key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", 0.97, "A SendGrid API key."),
    Format::new("mailgun_key", "key-", "key-[0-9a-f]{32}", 0.85, "A Mailgun API key."),
    Format::new("mailchimp_key", "-us", "[0-9a-f]{32}-us[0-9]{1,2}", 0.85, "A Mailchimp API key.").after(32),
    // The key's number, not its secret; but nobody has one without the other.
    Format::new("twilio_key", "SK", "SK[0-9a-f]{32}", 0.7, "An API key of Twilio."),
    Format::new(
        "azure_client_secret",
        "Q~",
        r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
        0.9,
        "A client secret of Azure.",
    )
    .after(4),
    Format::new("digitalocean_token", "dop_v1_", "dop_v1_[0-9a-f]{64}", 0.97, "A DigitalOcean token."),
    Format::new("digitalocean_token", "doo_v1_", "doo_v1_[0-9a-f]{64}", 0.97, "A DigitalOcean token."),
    Format::new("digitalocean_token", "dor_v1_", "dor_v1_[0-9a-f]{64}", 0.97, "A DigitalOcean token."),
    Format::new("shopify_token", "shpat_", "shpat_[0-9a-fA-F]{32}", 0.97, "A Shopify token."),
    Format::new("shopify_token", "shpca_", "shpca_[0-9a-fA-F]{32}", 0.97, "A Shopify token."),
    Format::new("shopify_token", "shppa_", "shppa_[0-9a-fA-F]{32}", 0.97, "A Shopify token."),
    Format::new("shopify_token", "shpss_", "shpss_[0-9a-fA-F]{32}", 0.97, "A shared secret of Shopify."),
    Format::new("databricks_token", "dapi", "dapi[0-9a-f]{32}(?:-[0-9]{1,2})?", 0.93, "A Databricks token."),
    Format::new("docker_token", "dckr_pat_", "dckr_pat_[A-Za-z0-9_-]{27}", 0.97, "A Docker token."),
    Format::new("docker_token", "dckr_oat_", "dckr_oat_[A-Za-z0-9_-]{32}", 0.97, "A Docker token."),
    Format::new("crates_token", "cio", "cio[A-Za-z0-9]{32}", 0.8, "A token of crates.io."),
    Format::new("rubygems_key", "rubygems_", "rubygems_[0-9a-f]{48}", 0.97, "A RubyGems API key."),
    Format::new("vault_token", "hvs.", r"hvs\.[A-Za-z0-9_-]{90,120}", 0.95, "A Vault token."),
    Format::new("vault_token", "hvb.", r"hvb\.[A-Za-z0-9_-]{130,300}", 0.95, "A Vault token."),
    Format::new(
        "terraform_token",
        ".atlasv1.",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}",
        0.97,
        "A Terraform token.",
    )
    .after(14),
    Format::new("grafana_token", "glsa_", "glsa_[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}", 0.97, "A Grafana token."),
    Format::new("grafana_token", "glc_eyJ", "glc_eyJ[A-Za-z0-9+/]{30,400}={0,2}", 0.95, "A Grafana Cloud token."),
    Format::new("sentry_token", "sntrys_", "sntrys_eyJ[A-Za-z0-9+/=_]{80,400}", 0.97, "A Sentry token."),
    Format::new("sentry_token", "sntryu_", "sntryu_[0-9a-f]{64}", 0.97, "A Sentry token."),
    Format::new("new_relic_key", "NRAK-", "NRAK-[A-Z0-9]{27}", 0.95, "A New Relic key."),
    Format::new("postman_key", "PMAK-", "PMAK-[0-9a-f]{24}-[0-9a-f]{34}", 0.97, "A Postman API key."),
    Format::new("dynatrace_token", "dt0", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}", 0.97, "A Dynatrace token."),
    Format::new(
        "doppler_token",
        "dp.",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}",
        0.95,
        "A Doppler token.",
    ),
    Format::new("figma_token", "figd_", "figd_[A-Za-z0-9_-]{40}", 0.95, "A Figma token."),
    Format::new("linear_key", "lin_api_", "lin_api_[A-Za-z0-9]{40}", 0.97, "A Linear API key."),
    Format::new("notion_token", "ntn_", "ntn_[0-9]{11}[A-Za-z0-9]{35}", 0.95, "A Notion token."),
    Format::new("airtable_token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", 0.97, "An Airtable token."),
    Format::new("atlassian_token", "ATATT3", "ATATT3[A-Za-z0-9_=-]{180,200}", 0.97, "An Atlassian token."),
    Format::new("pulumi_token", "pul-", "pul-[0-9a-f]{40}", 0.95, "A Pulumi token."),
    Format::new("supabase_key", "sbp_", "sbp_[0-9a-f]{40}", 0.95, "A Supabase token."),
    Format::new("supabase_key", "sb_secret_", "sb_secret_[A-Za-z0-9_-]{31,40}", 0.95, "A secret key of Supabase."),
    Format::new(
        "planetscale_token",
        "pscale_",
        r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,64}",
        0.95,
        "A PlanetScale token.",
    ),
    Format::new("netlify_token", "nfp_", "nfp_[A-Za-z0-9]{36}", 0.95, "A Netlify token."),
    Format::new("fly_token", "FlyV1 ", "FlyV1 fm[12][ar]?_[A-Za-z0-9+/_-]{60,400}={0,2}", 0.95, "A Fly.io token."),
    Format::new("square_token", "sq0", "sq0(?:atp-[A-Za-z0-9_-]{22}|csp-[A-Za-z0-9_-]{43})", 0.95, "A Square token."),
    Format::new("one_password_token", "ops_eyJ", "ops_eyJ[A-Za-z0-9+/_-]{250,700}={0,3}", 0.97, "A 1Password token."),
    Format::new(
        "age_secret_key",
        "AGE-SECRET-KEY-1",
        "AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
        0.97,
        "A secret key of age.",
    ),
];

#[cfg(test)]
mod tests {
    use super::super::{CATEGORY, PLACEHOLDER, checksum_holds, scan};
    use super::*;
    use crate::scanners::fragment::tests::literal;

    const MIXED: &str = "9fK2mQ7xLw3Rt8ZpV6cYb1NdHs4GjTe5UaXoDqWi";
    const LETTERS: &str = "fKmQxLwRtZpVcYbNdHsGjTeUaXoDqWiBkCzEr";
    const HEX: &str = "9f02c7ab36e81d54f90b7c2ae6318d45";

    fn of(alphabet: &str, length: usize) -> String {
        alphabet.chars().cycle().take(length).collect()
    }

    fn found(text: &str) -> Vec<(String, String, f64)> {
        let mut found = Vec::new();
        scan(&literal(text), &mut found);
        assert!(found.iter().all(|one| one.category == CATEGORY));
        found.into_iter().map(|one| (one.rule.into_owned(), text[one.range].to_owned(), one.confidence)).collect()
    }

    /// A secret of each rule, made up here: none is anybody's.
    fn secrets() -> Vec<(&'static str, String)> {
        let mixed = |anchor: &str, length| format!("{anchor}{}", of(MIXED, length));
        let hex = |anchor: &str, length| format!("{anchor}{}", of(HEX, length));
        let upper = |anchor: &str, length| format!("{anchor}{}", of("Q7X2LWR3TZPV6CYBNDHS4GJ", length));
        vec![
            (GITHUB, format!("github_pat_{}_{}", of(MIXED, 22), of(MIXED, 59))),
            ("pypi_token", mixed(&["pypi-", "AgEIcHlwaS5vcmc"].concat(), 70)),
            ("gitlab_token", mixed("glpat-", 20)),
            ("gitlab_token", mixed("gldt-", 20)),
            ("gitlab_token", mixed("glrt-", 20)),
            ("gitlab_token", mixed("glcbt-64_", 20)),
            ("aws_access_key", upper("AKIA", 16)),
            ("aws_access_key", upper("ASIA", 16)),
            ("aws_bedrock_key", mixed("ABSK", 128)),
            ("google_api_key", mixed("AIza", 35)),
            ("google_oauth_secret", mixed("GOCSPX-", 28)),
            ("google_oauth_token", mixed("ya29.", 120)),
            ("openai_key", mixed(&mixed("sk-", 20), 0) + "T3Blbk" + "FJ" + &of(MIXED, 20)),
            ("openai_key", mixed("sk-proj-", 74) + "T3Blbk" + "FJ" + &of(MIXED, 74)),
            ("openai_key", mixed("sk-proj-", 156)),
            ("anthropic_key", mixed(&["sk-ant-", "api03-"].concat(), 93) + "AA"),
            ("openrouter_key", hex("sk-or-v1-", 64)),
            ("hugging_face_token", format!("hf_{}", of(LETTERS, 34))),
            ("hugging_face_token", format!("api_org_{}", of(LETTERS, 34))),
            ("e2b_key", hex("e2b_", 40)),
            ("groq_key", mixed("gsk_", 52)),
            ("xai_key", mixed("xai-", 80)),
            ("perplexity_key", mixed("pplx-", 48)),
            ("replicate_token", mixed("r8_", 37)),
            ("langsmith_key", format!("lsv2_pt_{}_{}", of(HEX, 32), of(HEX, 10))),
            ("slack_token", format!("xoxb-{}-{}-{}", "7402918365", "5820174639", of(MIXED, 24))),
            ("slack_token", format!("xapp-1-{}-{}-{}", "A7402918365", "5820174639", of(HEX, 64))),
            ("slack_webhook", format!("hooks.slack.com/services/T{0}/B{0}/{1}", "7402918K", of(MIXED, 24))),
            ("discord_webhook", format!("discord.com/api/webhooks/{}/{}", "740291836558201746", of(MIXED, 68))),
            ("discord_webhook", format!("discordapp.com/api/webhooks/{}/{}", "740291836558201746", of(MIXED, 68))),
            ("stripe_key", mixed(&["sk_", "live_"].concat(), 24)),
            ("stripe_key", mixed(&["rk_", "live_"].concat(), 24)),
            ("stripe_test_key", mixed(&["sk_", "test_"].concat(), 24)),
            ("stripe_test_key", mixed(&["rk_", "test_"].concat(), 24)),
            ("stripe_webhook_secret", mixed("whsec_", 32)),
            ("sendgrid_key", format!("SG.{}.{}", of(MIXED, 22), of(MIXED, 43))),
            ("mailgun_key", hex("key-", 32)),
            ("mailchimp_key", of(HEX, 32) + "-us12"),
            ("twilio_key", hex("SK", 32)),
            ("azure_client_secret", mixed("aB78Q~", 34)),
            ("digitalocean_token", hex("dop_v1_", 64)),
            ("digitalocean_token", hex("doo_v1_", 64)),
            ("digitalocean_token", hex("dor_v1_", 64)),
            ("shopify_token", hex("shpat_", 32)),
            ("shopify_token", hex("shpca_", 32)),
            ("shopify_token", hex("shppa_", 32)),
            ("shopify_token", hex("shpss_", 32)),
            ("databricks_token", hex("dapi", 32)),
            ("docker_token", mixed("dckr_pat_", 27)),
            ("docker_token", mixed("dckr_oat_", 32)),
            ("crates_token", mixed("cio", 32)),
            ("rubygems_key", hex("rubygems_", 48)),
            ("vault_token", mixed("hvs.", 95)),
            ("vault_token", mixed("hvb.", 140)),
            ("terraform_token", of(MIXED, 14) + ".atlasv1." + &of(MIXED, 64)),
            ("grafana_token", format!("glsa_{}_{}", of(MIXED, 32), of(HEX, 8))),
            ("grafana_token", mixed("glc_eyJ", 60)),
            ("sentry_token", mixed("sntrys_eyJ", 120)),
            ("sentry_token", hex("sntryu_", 64)),
            ("new_relic_key", upper("NRAK-", 27)),
            ("postman_key", format!("PMAK-{}-{}", of(HEX, 24), of(HEX, 34))),
            ("dynatrace_token", format!("dt0c01.{}.{}", upper("", 24), upper("", 64))),
            ("doppler_token", mixed("dp.pt.", 43)),
            ("figma_token", mixed("figd_", 40)),
            ("linear_key", mixed("lin_api_", 40)),
            ("notion_token", mixed("ntn_47305829164", 35)),
            ("airtable_token", format!("pat{}.{}", of(MIXED, 14), of(HEX, 64))),
            ("atlassian_token", mixed("ATATT3", 186)),
            ("pulumi_token", hex("pul-", 40)),
            ("supabase_key", hex("sbp_", 40)),
            ("supabase_key", mixed("sb_secret_", 31)),
            ("planetscale_token", mixed("pscale_tkn_", 43)),
            ("netlify_token", mixed("nfp_", 36)),
            ("fly_token", mixed("FlyV1 fm2_", 120)),
            ("square_token", mixed("sq0atp-", 22)),
            ("one_password_token", mixed("ops_eyJ", 300)),
            ("age_secret_key", format!("AGE-SECRET-KEY-1{}", of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))),
        ]
    }

    #[test]
    fn every_format_is_recognised_alone_and_inside_a_text() {
        for (rule, secret) in secrets() {
            for text in [secret.clone(), format!("curl -H 'X-Auth: {secret}' é")] {
                let found = found(&text);
                assert_eq!(found.len(), 1, "{rule} {text}: {found:?}");
                assert_eq!((found[0].0.as_str(), &found[0].1), (rule, &secret));
                assert!(found[0].2 >= 0.6, "{found:?}");
            }
        }
    }

    #[test]
    fn every_format_has_a_secret_in_the_test() {
        let tested: Vec<String> = secrets().into_iter().map(|(_, secret)| secret).collect();
        for (index, format) in FORMATS.iter().enumerate() {
            let known = tested.iter().any(|secret| regex(index).is_match(secret));
            assert!(known || format.check == Check::Checksum, "{}", format.anchor);
        }
    }

    #[test]
    fn a_longer_word_is_another_word() {
        for (rule, secret) in secrets() {
            let inside = format!("x{secret}");
            assert!(!found(&inside).iter().any(|one| one.0 == rule && one.1 == secret), "{inside}");
        }
        assert_eq!(found(&format!("AKIA{}Z", of("Q7X2LWR3TZPV6CYB", 16))), []);
    }

    #[test]
    fn the_checksum_of_a_token_tells_whether_it_is_one() {
        // Tokens that their owner had revoked, and then published to show the checksum.
        let known = "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ".to_owned() + "0mLq17";
        assert!(checksum_holds(&known));
        for anchor in ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_"] {
            let token = format!("{anchor}{known}");
            assert_eq!(found(&token)[0].2, 0.99, "{token}");
            let wrong = token.replace("17", "18");
            assert!(found(&wrong)[0].2 < 0.5, "{wrong}");
        }
        assert!(!checksum_holds("") && !checksum_holds("12345") && !checksum_holds("é1234é"));
    }

    #[test]
    fn an_example_has_the_form_but_not_the_confidence() {
        let documented = "AKIAIOSFODNN7".to_owned() + "EXAMPLE";
        let repeated = format!("hf_{}", "a".repeat(34));
        let obvious = format!("e2b_{}", "1234567890".repeat(4));
        for text in [documented, repeated, obvious, format!("sk-ant-{}-{}", "api03", "x".repeat(95))] {
            assert_eq!(found(&text).first().map(|one| one.2), Some(PLACEHOLDER), "{text}");
        }
    }

    #[test]
    fn ordinary_words_are_no_secrets() {
        for text in [
            "task-list-of-things-that-are-longer-than-forty-characters-in-all",
            "the key-value store",
            "SKU-12",
            "sk-learn",
            "patient.0123456789",
            "risk-free",
            "npm_config_registry",
            "ghp_",
            "AKIA",
            "SG.",
            "-us",
            "f9f02c7ab36e81d54f90b7c2ae6318d45",
            "eyJ.eyJ.x",
            "ssh -i key-file",
            "cioppino",
            "dp.pt.short",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
