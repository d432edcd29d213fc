//! A feed that is told events by hand: what its cache shows, and whom it tells.

use beskar7_api::PhysicalHost;
use kube::Client;
use serde_json::{Value, json};

use super::*;

fn feed() -> Feed<PhysicalHost> {
    let nowhere = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("nobody is to be asked"))
    });
    Feed::new("PhysicalHost", Api::all(Client::new(nowhere, "default")), watcher::Config::default())
}

fn host(name: &str, connection: Value) -> DeserializeGuard<PhysicalHost> {
    serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "PhysicalHost",
        "metadata": {"name": name, "namespace": "metal", "managedFields": [{"manager": "somebody"}]},
        "spec": {"redfishConnection": connection},
    }))
    .unwrap()
}

fn good(name: &str) -> DeserializeGuard<PhysicalHost> {
    host(name, json!({"address": "https://127.0.0.1:9", "credentialsSecretRef": "bmc"}))
}

fn broken(name: &str) -> DeserializeGuard<PhysicalHost> {
    host(name, json!("not an object"))
}

fn told(receiver: &mut UnboundedReceiver<Key>) -> Vec<String> {
    let mut names: Vec<String> =
        std::iter::from_fn(|| receiver.try_recv().ok()).map(|(_, name)| name).collect();
    names.sort();
    names
}

fn shown(cache: &Cache<PhysicalHost>) -> Vec<String> {
    let mut names: Vec<String> = cache.all().iter().map(|host| key(host.as_ref()).1).collect();
    names.sort();
    names
}

impl Feed<PhysicalHost> {
    /// An event, as the watch gives it.
    fn take(&mut self, event: Event<DeserializeGuard<PhysicalHost>>) {
        self.keeper.as_mut().unwrap().take(event);
    }
}

/// A list, as a watch begins with one.
fn list(feed: &mut Feed<PhysicalHost>, objects: Vec<DeserializeGuard<PhysicalHost>>) {
    feed.take(Event::Init);
    objects.into_iter().for_each(|object| feed.take(Event::InitApply(object)));
    feed.take(Event::InitDone);
}

#[tokio::test]
async fn every_listener_is_told_what_came_changed_and_went() {
    let mut feed = feed();
    let (cache, mut one, mut two) = (feed.cache(), feed.changes(), feed.changes());
    feed.take(Event::Init);
    feed.take(Event::InitApply(good("a")));
    assert_eq!((shown(&cache), told(&mut one)), (vec![], vec![]), "a list counts when it is complete");
    feed.take(Event::InitApply(good("b")));
    feed.take(Event::InitDone);
    cache.filled().await;
    assert_eq!((shown(&cache), told(&mut one)), (vec!["a".into(), "b".into()], vec!["a".into(), "b".into()]));
    assert_eq!(told(&mut two), ["a", "b"]);

    feed.take(Event::Apply(good("c")));
    feed.take(Event::Delete(good("a")));
    assert_eq!((shown(&cache), told(&mut one)), (vec!["b".into(), "c".into()], vec!["a".into(), "c".into()]));

    // A new list after a lost watch: whoever is gone is told too.
    list(&mut feed, vec![good("c"), good("d")]);
    assert_eq!(shown(&cache), ["c", "d"]);
    assert_eq!(told(&mut one), ["b", "c", "d"]);
}

#[tokio::test]
async fn all_who_wait_for_a_cache_are_woken() {
    let mut feed = feed();
    let waiting: Vec<_> =
        (0..3).map(|_| feed.cache()).map(|cache| tokio::spawn(async move { cache.filled().await })).collect();
    tokio::task::yield_now().await;
    list(&mut feed, vec![]);
    for one in waiting {
        tokio::time::timeout(std::time::Duration::from_secs(10), one).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_as_if_it_were_gone_until_somebody_mends_it() {
    let mut feed = feed();
    let (cache, mut changes) = (feed.cache(), feed.changes());
    list(&mut feed, vec![good("a"), broken("b")]);
    assert_eq!((shown(&cache), told(&mut changes)), (vec!["a".into()], vec!["a".into()]));

    feed.take(Event::Apply(broken("a")));
    assert_eq!((shown(&cache), told(&mut changes)), (vec![], vec!["a".into()]));
    assert_eq!(feed.keeper.as_ref().unwrap().unreadable.len(), 2);

    feed.take(Event::Apply(good("a")));
    feed.take(Event::Delete(broken("b")));
    assert_eq!((shown(&cache), told(&mut changes)), (vec!["a".into()], vec!["a".into(), "b".into()]));
    assert!(feed.keeper.as_ref().unwrap().unreadable.is_empty());
}

#[tokio::test]
async fn who_wrote_which_field_is_not_kept() {
    let mut feed = feed();
    list(&mut feed, vec![good("a")]);
    feed.take(Event::Apply(good("b")));
    assert!(feed.cache().all().iter().all(|host| host.metadata.managed_fields.is_none()));
}

#[tokio::test]
async fn who_listens_later_is_told_what_is_there_and_what_comes() {
    let mut feed = feed();
    list(&mut feed, vec![good("a"), good("b")]);
    let mut late = feed.changes();
    assert_eq!(told(&mut late), ["a", "b"]);
    feed.take(Event::Apply(good("c")));
    assert_eq!(told(&mut late), ["c"]);
}

#[test]
fn a_spec_is_new_once_and_that_of_another_object_of_the_same_name_too() {
    let named: Key = ("metal".to_owned(), "p".to_owned());
    let object = |uid: &str, generation: i64| {
        let mut object = beskar7_api::HostDeployPolicy::new("p", Default::default());
        object.metadata.uid = Some(uid.to_owned());
        object.metadata.generation = Some(generation);
        object
    };
    let mut specs = Specs::default();
    for (number, (found, expected)) in [
        (None, false),
        (Some(object("a", 1)), true),
        (Some(object("a", 1)), false),
        (Some(object("a", 2)), true),
        (Some(object("b", 2)), true),
        (None, true),
        (None, false),
        (Some(object("b", 2)), true),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(specs.is_new(&named, found.as_ref()), expected, "{number}");
    }
}
