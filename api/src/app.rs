//! The endpoint that is all of it: one look at the path decides which surface answers.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::Engine;
use poem::http::Method;
use poem::{Endpoint, Request, Response, Result};
use tokio::sync::watch;
use wire::Version;

use crate::log::{Served, Watch};
use crate::operation::Operation;
use crate::route::{Base, is_rpc};
use crate::{Options, card, cors, health, jsonrpc, rest, verbs, version, webhook_keys, worker};

/// Every surface over `engine`, for a server or for poem's test client.
pub fn app(engine: Engine, options: Options) -> impl Endpoint<Output = Response> + Clone + 'static {
    App::new(engine, options)
}

/// Everything the surfaces share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

/// What every request may need.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) options: Options,
    pub(crate) rest: verbs::Table<verbs::Handler>,
    pub(crate) rest_v03: verbs::Table<Operation>,
    pub(crate) worker: verbs::Table<verbs::Handler>,
    /// Since when the configuration holds, in whole seconds.
    pub(crate) started: SystemTime,
    draining: watch::Sender<bool>,
}

impl App {
    pub(crate) fn new(engine: Engine, options: Options) -> App {
        let seconds = u64::try_from(engine.clock().now() / 1_000).unwrap_or_default();
        App(Arc::new(Shared {
            started: UNIX_EPOCH + Duration::from_secs(seconds),
            engine,
            options,
            rest: rest::table(),
            rest_v03: rest::v03::table(),
            worker: worker::table(),
            draining: watch::Sender::new(false),
        }))
    }

    /// What the surfaces share, for one beside poem.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.0.clone()
    }

    /// Readiness goes off, so that no more requests are sent here.
    pub(crate) fn drain(&self) {
        self.0.draining.send_replace(true);
    }
}

impl Shared {
    /// Resolves once shutdown has begun.
    pub(crate) async fn drained(&self) {
        // It cannot fail: the sender is ours.
        self.draining.subscribe().wait_for(|draining| *draining).await.ok();
    }

    /// The versions of A2A that are served.
    pub(crate) fn served(&self) -> &'static [Version] {
        version::served(self.options.v03)
    }

    /// Whether shutdown has begun.
    pub(crate) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }
}

impl Endpoint for App {
    type Output = Response;

    async fn call(&self, request: Request) -> Result<Response> {
        let watch = Watch::begin(&request);
        let served = answer(&self.0, request).await;
        Ok(watch.end(served))
    }
}

async fn answer(shared: &Arc<Shared>, request: Request) -> Served {
    let path = request.uri().path().to_owned();
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    match path.as_str() {
        "/" if looks => return Served::of("Index", health::index()),
        "/healthz" if looks => return Served::of("Healthz", health::alive()),
        "/readyz" if looks => return Served::of("Readyz", health::ready(shared).await),
        _ => {}
    }
    if let Some(rest) = path.strip_prefix(worker::PREFIX)
        && (rest.is_empty() || rest.starts_with('/'))
    {
        return worker::answer(shared, request, rest).await;
    }
    let base = Base::of(&path);
    if card::is_at(&base) {
        return card::answer(shared, &request, &base);
    }
    if webhook_keys::is_at(&base) {
        return webhook_keys::answer(shared, &request, &base).await;
    }
    let origin = cors::allowed(&shared.options.cors_origins, request.headers());
    let mut served = match &origin {
        Some(_) if cors::is_preflight(request.method(), request.headers()) => Served::of("-", cors::preflight()),
        _ if is_rpc(base.rest) => jsonrpc::answer(shared, request, &base).await,
        _ => match rest::v03::path_of(shared, base.rest) {
            Some(path) => rest::v03::answer(shared, request, &base, path).await,
            None => rest::answer(shared, request, &base).await,
        },
    };
    if !shared.options.cors_origins.is_empty() {
        cors::open_to(origin, &mut served.response);
    }
    served
}
