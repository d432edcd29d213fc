//! The URLs by which hosts reach the boot server. Each carries a capability: none of them goes into an object, a log or
//! a message.

use beskar7_boot::{
    capability::{Capability, Key, PREFIX, Purpose},
    delivery::{ArtifactName, LOADERS, SCRIPT},
};
use beskar7_core::{
    delivery::{AGENT, AgentBoot, Delivery, PLACEHOLDER},
    network_boot::CAPABILITY,
};
use url::Url;

/// As long as the name of an image may be in our URL: some BMCs keep short URLs only.
const LONGEST_NAME: usize = 48;

/// The directory of volumes.
const VOLUME: &str = "volume";

/// Makes the URLs.
#[derive(Clone)]
pub struct Links {
    base: String,
    key: Key,
}

impl Links {
    /// For a server at this URL.
    #[must_use]
    pub fn new(url: &str, key: Key) -> Self {
        Self { base: url.trim_end_matches('/').to_owned(), key }
    }

    /// What decisions need to know of them, where hosts start the agent in this way.
    #[must_use]
    pub fn delivery(&self, agent: AgentBoot) -> Delivery {
        Delivery::On { url_length: self.configuration("").len(), agent }
    }

    /// The capability of a claim.
    #[must_use]
    pub fn capability(&self, purpose: Purpose, claim: &str) -> Capability {
        self.key.capability(purpose, claim)
    }

    /// The directory with a machine's configuration.
    #[must_use]
    pub fn configuration(&self, claim: &str) -> String {
        self.url(Purpose::Configuration, claim)
    }

    /// Where the agent on a machine asks what to do: all that it needs is below.
    #[must_use]
    pub fn agent(&self, claim: &str) -> String {
        format!("{}/", self.url(Purpose::Agent, claim))
    }

    /// Where a machine says that it runs.
    #[must_use]
    pub fn phone_home(&self, claim: &str) -> String {
        format!("{}/phone-home", self.url(Purpose::PhoneHome, claim))
    }

    /// The image of this content, as it is presented.
    #[must_use]
    pub fn image(&self, claim: &str, pin: &str, source: &str) -> String {
        format!("{}/{pin}/{}.iso", self.url(Purpose::Media, claim), name(source))
    }

    /// The volume with a machine's configuration.
    #[must_use]
    pub fn volume(&self, claim: &str, label: &str) -> String {
        format!("{}/{VOLUME}/{label}.iso", self.url(Purpose::Media, claim))
    }

    /// What a machine's loader is told to start.
    #[must_use]
    pub fn script(&self, claim: &str) -> String {
        format!("{}/{SCRIPT}", self.url(Purpose::Media, claim))
    }

    /// The same for everybody to see: a placeholder stands where the capability is.
    #[must_use]
    pub fn shown_script(&self) -> String {
        self.shown(SCRIPT)
    }

    /// What a machine boots from the network.
    #[must_use]
    pub fn artifact(&self, claim: &str, artifact: ArtifactName) -> String {
        format!("{}/{}", self.url(Purpose::Media, claim), artifact.path())
    }

    /// The same for everybody to see.
    #[must_use]
    pub fn shown_artifact(&self, artifact: ArtifactName) -> String {
        self.shown(&artifact.path())
    }

    /// The directory of boot loaders.
    #[must_use]
    pub fn loaders(&self) -> String {
        format!("{}{LOADERS}", self.base)
    }

    fn shown(&self, name: &str) -> String {
        format!("{}{PREFIX}{CAPABILITY}/{name}", self.base)
    }

    /// Kernel parameters with the URLs of a machine's configuration and of its agent in them.
    #[must_use]
    pub fn fill_in(&self, arguments: &[String], claim: &str) -> Vec<String> {
        let (url, agent) = (self.configuration(claim), self.agent(claim));
        let filled =
            arguments.iter().map(|argument| argument.replace(PLACEHOLDER, &url).replace(AGENT, &agent));
        filled.collect()
    }

    /// What tells one installation from the next, and nothing else.
    #[must_use]
    pub fn instance_id(&self, host: &str, claim: &str) -> String {
        let mark = self.key.capability(Purpose::Instance, claim).in_url();
        format!("{host}-{}", mark.get(..12).unwrap_or_default())
    }

    fn url(&self, purpose: Purpose, claim: &str) -> String {
        format!("{}{PREFIX}{}", self.base, self.key.capability(purpose, claim).in_url())
    }
}

/// Whether this is the URL of a volume with a configuration, as [`Links::volume`] makes them.
#[must_use]
pub fn is_volume(url: &str) -> bool {
    url.contains(PREFIX) && url.rsplit('/').nth(1) == Some(VOLUME)
}

/// The name of an image, as it may stand in any URL.
fn name(source: &str) -> String {
    let path = Url::parse(source).map(|url| url.path().to_owned()).unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    let stem = file.strip_suffix(".iso").or_else(|| file.strip_suffix(".ISO")).unwrap_or(file);
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = stem.chars().filter(plain).take(LONGEST_NAME).collect();
    if name.is_empty() { "image".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Links {
        Links::new("http://10.0.0.1:8082/", Key::new(&[3; 32]).unwrap())
    }

    #[test]
    fn every_claim_has_urls_of_its_own_and_all_are_equally_long() {
        let links = links();
        let (one, two) = (links.configuration("c1"), links.configuration("c2"));
        assert!(one.starts_with("http://10.0.0.1:8082/c/") && one != two, "{one}");
        let on = links.delivery(AgentBoot::Network);
        assert_eq!(on, Delivery::On { url_length: one.len(), agent: AgentBoot::Network });
        let agents = links.fill_in(&["beskar7.url={{agentURL}}".to_owned()], "c1").remove(0);
        assert_eq!(agents, format!("beskar7.url={}", links.agent("c1")));
        assert_eq!(agents.len(), on.as_long("beskar7.url={{agentURL}}").len());
        assert!(agents.ends_with('/') && !agents.contains(&one), "it opens no configuration");
        let filled = links.fill_in(&["a={{configURL}}/kairos".to_owned(), "b".to_owned()], "c1");
        assert_eq!(filled, [format!("a={one}/kairos"), "b".to_owned()]);
        let volume = links.volume("c1", "cidata");
        assert!(volume.ends_with("/volume/cidata.iso") && is_volume(&volume));
        assert!(!is_volume(&links.image("c1", "p", "http://x/cidata.iso")));
        assert_ne!(links.instance_id("h", "c1"), links.instance_id("h", "c2"));
    }

    #[test]
    fn an_image_keeps_its_name_where_bmcs_can_read_it() {
        for (source, expected) in [
            ("https://x/images/ubuntu-24.04.iso", "ubuntu-24.04"),
            ("https://x/a.ISO?sig=1", "a"),
            ("https://x/", "image"),
            ("https://x/%20é;.iso", "20C3A9"),
            ("no url", "image"),
        ] {
            let url = links().image("c", "p", source);
            assert!(url.ends_with(&format!("/p/{expected}.iso")), "{source}: {url}");
        }
        let long = links().image("c", "p", &format!("https://x/{}.iso", "a".repeat(200)));
        assert!(long.len() < 140, "{long}");
    }
}
