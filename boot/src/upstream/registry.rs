//! One repository of a registry, asked with a token where it wants one: the token that anybody gets.

use std::fmt;
use std::sync::Arc;

use http::StatusCode;
use http::header::{ACCEPT, HeaderName};
use serde::Deserialize;
use tokio::sync::Mutex;
use url::Url;

use super::challenge::Challenge;
use super::document::Document;
use super::error::{Why, shown};
use super::web::{Answer, Web};

/// How long the answer of a token server may be.
const TOKEN_LIMIT: usize = 64 << 10;

/// A repository, and the token for it.
pub(crate) struct Registry {
    web: Arc<Web>,
    /// Where its API is: ends in the repository's name and a slash.
    base: Url,
    repository: String,
    /// Asked for by one at a time. Whether it is still good is for the registry to say.
    token: Mutex<Option<String>>,
}

#[derive(Deserialize)]
struct Answered {
    token: Option<String>,
    access_token: Option<String>,
}

impl Registry {
    pub(crate) fn new(web: Arc<Web>, host: &Url, repository: &str) -> Self {
        let mut base = host.clone();
        base.set_path(&format!("/v2/{repository}/"));
        Self { web, base, repository: repository.to_owned(), token: Mutex::default() }
    }

    /// Where a blob is.
    pub(crate) fn blob(&self, digest: &str) -> Url {
        self.at("blobs", digest)
    }

    fn at(&self, kind: &str, name: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("/v2/{}/{kind}/{name}", self.repository));
        url
    }

    /// The manifest that a tag or digest stands for.
    pub(crate) async fn manifest(&self, version: &str, accept: &str, limit: usize) -> Result<Document, Why> {
        let answer = self.get(&self.at("manifests", version), &[(ACCEPT, accept.to_owned())]).await?;
        Document::read(answer, limit).await
    }

    /// A small blob as a whole.
    pub(crate) async fn small_blob(&self, digest: &str, limit: usize) -> Result<Document, Why> {
        Document::read(self.get(&self.blob(digest), &[]).await?, limit).await
    }

    /// Asks, and asks again with a token if the registry wants one. Where else a URL or a redirect leads is asked
    /// without.
    pub(crate) async fn get(&self, url: &Url, headers: &[(HeaderName, String)]) -> Result<Answer, Why> {
        if !self.is_own(url) {
            return self.web.get(url, headers).await;
        }
        let token = self.token.lock().await.clone();
        let answer = self.web.get_with_token(url, headers, token.as_deref()).await?;
        if answer.response.status() != StatusCode::UNAUTHORIZED || !self.is_own(&answer.from) {
            return Ok(answer);
        }
        let Some(challenge) = Challenge::of(answer.response.headers()) else { return Ok(answer) };
        let token = self.renewed(token, &challenge).await?;
        self.web.get_with_token(url, headers, Some(&token)).await
    }

    fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.base.origin()
    }

    /// Another token than the one that was refused.
    async fn renewed(&self, refused: Option<String>, challenge: &Challenge) -> Result<String, Why> {
        let mut token = self.token.lock().await;
        if let Some(current) = &*token
            && refused.as_ref() != Some(current)
        {
            return Ok(current.clone());
        }
        *token = None;
        let url = self.token_url(challenge)?;
        let new = self.ask_for_token(&url).await;
        let new = new.map_err(|why| Why::Token { realm: shown(&bare(&url)), why: Box::new(why) })?;
        *token = Some(new.clone());
        Ok(new)
    }

    fn token_url(&self, challenge: &Challenge) -> Result<Url, Why> {
        let wrong = |why: &str| Why::Answer(format!("its registry asks for a token, {why}"));
        let mut url = Url::parse(&challenge.realm).map_err(|_| wrong("but does not say where from"))?;
        if self.base.scheme() == "https" && url.scheme() != "https" {
            return Err(wrong("but where anybody on the way could read it"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("but in somebody else's name"));
        }
        let own = format!("repository:{}:pull", self.repository);
        let scope = challenge.scope.as_deref().unwrap_or(&own);
        let mut query = url.query_pairs_mut();
        if let Some(service) = &challenge.service {
            query.append_pair("service", service);
        }
        for scope in scope.split_whitespace() {
            query.append_pair("scope", scope);
        }
        drop(query);
        Ok(url)
    }

    async fn ask_for_token(&self, url: &Url) -> Result<String, Why> {
        let document = Document::read(self.web.get(url, &[]).await?, TOKEN_LIMIT).await?;
        let answered: Option<Answered> = serde_json::from_slice(&document.bytes).ok();
        let token = answered.and_then(|answered| answered.token.or(answered.access_token));
        // As a header takes it.
        let token =
            token.filter(|token| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
        token.ok_or_else(|| Why::Answer("what it answers is no token".to_owned()))
    }
}

fn bare(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registry({})", self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::settings::UpstreamSettings;

    fn asked(registry: &str, realm: &str, scope: Option<&str>) -> Result<String, String> {
        let web = Arc::new(Web::new(&UpstreamSettings::default()).unwrap());
        let registry = Registry::new(web, &registry.parse().unwrap(), "a/b");
        let scope = scope.map(str::to_owned);
        let challenge = Challenge { realm: realm.to_owned(), service: Some("c".to_owned()), scope };
        registry.token_url(&challenge).map(String::from).map_err(|why| why.to_string())
    }

    #[test]
    fn a_token_is_asked_for_where_nobody_on_the_way_can_read_it() {
        let own = "scope=repository%3Aa%2Fb%3Apull";
        for (registry, realm, scope, expected) in [
            ("https://r.test/", "https://t.test/t", None, Ok(format!("https://t.test/t?service=c&{own}"))),
            ("http://r.test/", "http://t.test/t", None, Ok(format!("http://t.test/t?service=c&{own}"))),
            (
                "https://r.test/",
                "https://t.test/t?x=y",
                Some("d e"),
                Ok("https://t.test/t?x=y&service=c&scope=d&scope=e".to_owned()),
            ),
            ("https://r.test/", "http://t.test/t", None, Err("anybody on the way could read it")),
            ("https://r.test/", "https://me:secret@t.test/t", None, Err("in somebody else's name")),
            ("https://r.test/", "https://me@t.test/t", None, Err("in somebody else's name")),
            ("https://r.test/", "/t", None, Err("does not say where from")),
        ] {
            match (asked(registry, realm, scope), expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url, expected),
                (Err(told), Err(said)) => {
                    assert!(told.contains(said) && !told.contains("secret"), "{realm}: {told}");
                }
                (found, expected) => panic!("{realm}: {found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn blobs_are_asked_for_at_the_registry() {
        let web = Arc::new(Web::new(&UpstreamSettings::default()).unwrap());
        let registry = Registry::new(web, &"https://r.test:5000/".parse().unwrap(), "a/b");
        assert_eq!(registry.blob("sha256:00").as_str(), "https://r.test:5000/v2/a/b/blobs/sha256:00");
    }
}
