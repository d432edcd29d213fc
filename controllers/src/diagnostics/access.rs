//! Who may read the diagnostics: whoever's token the API server knows, and whom it allows the non-resource URL.
//!
//! The same rule as in Cluster API's own managers: grant `get` on `nonResourceURLs: ["/metrics"]`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
};
use kube::{Api, Client, api::PostParams};
use tokio::sync::Semaphore;

use crate::{causes::causes, clock};

/// How long an answer is believed: a revoked right ends after this.
const ALLOWED_FOR: Duration = Duration::from_secs(60);
/// How long a refusal is repeated without asking again.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// How many answers are kept.
const KEPT: usize = 256;
/// How many questions are asked at once: a flood of unknown tokens must not become one of requests.
const ASKED_AT_ONCE: usize = 4;
/// No token is longer; what is longer is not sent to the API server.
const LONGEST_TOKEN: usize = 16 * 1024;

/// What the API server said about a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allowed,
    Unknown,
    Forbidden,
}

/// A token and what it asks for.
#[derive(PartialEq, Eq, Hash)]
struct Question {
    token: String,
    path: String,
    verb: String,
}

/// Asks the API server about callers, and remembers its answers for a short while.
#[derive(Clone)]
pub struct Guard {
    client: Client,
    answers: Arc<Mutex<HashMap<Question, (Verdict, Duration)>>>,
    asking: Arc<Semaphore>,
}

impl Guard {
    /// A guard that asks through `client`.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, answers: Arc::default(), asking: Arc::new(Semaphore::new(ASKED_AT_ONCE)) }
    }

    /// Lets a request through, or answers it.
    pub(super) async fn check(State(guard): State<Self>, request: Request, next: Next) -> Response {
        let Some(token) = bearer(request.headers()) else {
            return refusal(
                StatusCode::UNAUTHORIZED,
                "send a service account's token as Authorization: Bearer\n",
            );
        };
        let question = Question {
            token: token.to_owned(),
            path: request.uri().path().to_owned(),
            verb: request.method().as_str().to_ascii_lowercase(),
        };
        match guard.answer(question).await {
            Ok(Verdict::Allowed) => next.run(request).await,
            Ok(Verdict::Unknown) => {
                refusal(StatusCode::UNAUTHORIZED, "the API server does not know this token\n")
            }
            Ok(Verdict::Forbidden) => {
                refusal(StatusCode::FORBIDDEN, "not allowed: grant this user get on this nonResourceURL\n")
            }
            Err(error) => {
                tracing::warn!(error = causes(&error), "a caller of the diagnostics can't be checked");
                refusal(StatusCode::SERVICE_UNAVAILABLE, "the API server can't be asked about this token\n")
            }
        }
    }

    async fn answer(&self, question: Question) -> Result<Verdict, kube::Error> {
        if let Some(verdict) = self.remembered(&question) {
            return Ok(verdict);
        }
        // Never closed, so there is always a permit to wait for.
        let _permit = self.asking.acquire().await;
        let verdict = self.ask(&question).await?;
        self.remember(question, verdict);
        Ok(verdict)
    }

    fn remembered(&self, question: &Question) -> Option<Verdict> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(question).filter(|(_, until)| clock::uptime() < *until).map(|(verdict, _)| *verdict)
    }

    fn remember(&self, question: Question, verdict: Verdict) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock::uptime();
        if answers.len() >= KEPT {
            answers.retain(|_, (_, until)| now < *until);
        }
        if answers.len() >= KEPT {
            answers.clear();
        }
        let kept = match verdict {
            Verdict::Allowed => ALLOWED_FOR,
            Verdict::Unknown | Verdict::Forbidden => REFUSED_FOR,
        };
        answers.insert(question, (verdict, now + kept));
    }

    async fn ask(&self, question: &Question) -> Result<Verdict, kube::Error> {
        let review = TokenReview {
            spec: TokenReviewSpec { token: question.token.clone(), audiences: None },
            ..TokenReview::default()
        };
        let reviewed =
            Api::<TokenReview>::all(self.client.clone()).create(&PostParams::default(), &review).await?;
        let status = reviewed.status.unwrap_or_default();
        let (Some(true), Some(user)) = (status.authenticated, status.user) else {
            return Ok(Verdict::Unknown);
        };
        let review = access_review(user, question);
        let reviewed = Api::<SubjectAccessReview>::all(self.client.clone())
            .create(&PostParams::default(), &review)
            .await?;
        let allowed = reviewed.status.is_some_and(|status| status.allowed && status.denied != Some(true));
        Ok(if allowed { Verdict::Allowed } else { Verdict::Forbidden })
    }
}

fn access_review(user: UserInfo, question: &Question) -> SubjectAccessReview {
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username,
            groups: user.groups,
            uid: user.uid,
            extra: user.extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(question.path.clone()),
                verb: Some(question.verb.clone()),
            }),
            resource_attributes: None,
        },
        ..SubjectAccessReview::default()
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= LONGEST_TOKEN)
        .then_some(token)
}

fn refusal(status: StatusCode, text: &'static str) -> Response {
    let mut response = (status, text).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    }
    response
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
