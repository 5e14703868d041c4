//! gRPC (§10): the service of `a2a.proto` and that of `a2a_v03.proto`, served by their descriptors, beside reflection and the standard
//! health service.
//!
//! No Rust is made from the proto. A request is decoded by its descriptor and printed as ProtoJSON, which is read as in every other
//! binding, and an answer goes the same way back (`json.rs`): there is one family of types, and no field that this binding forgot.
//! Framing and trailers are tonic's, connections our own accept loop's.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use hyper::body::{Bytes, Incoming};
use poem::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use tonic::body::Body;
use tonic::codegen::Service as TowerService;
use tonic::server::{Grpc, NamedService, StreamingService};
use tonic::{Status, Streaming};
use tonic_health::pb::health_server::HealthServer;
use wire::{Error, Tenant};

use crate::app::Shared;
use crate::connection::{Handler, Peer};
use crate::log;

mod call;
mod codec;
mod health;
mod json;
mod schema;
mod status;
mod until;

use call::{Call, Items};
use codec::Raw;
use health::Health;
use schema::Schema;
use until::Until;

type Answer = BoxFuture<'static, Response<Body>>;

/// Everything that is served over gRPC. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Grpcs {
    shared: Arc<Shared>,
    schemas: Arc<Vec<Schema>>,
    others: Arc<Vec<Other>>,
}

/// A service that tonic brings along.
struct Other {
    name: &'static str,
    call: Box<dyn Fn(Request<Until>) -> Answer + Send + Sync>,
}

impl Other {
    fn of<S>(service: S) -> Other
    where
        S: TowerService<Request<Until>, Response = Response<Body>, Error = Infallible> + NamedService,
        S: Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        let call = move |request| -> Answer {
            let answer = service.clone().call(request);
            Box::pin(async {
                match answer.await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            })
        };
        Other { name: S::NAME, call: Box::new(call) }
    }
}

impl Grpcs {
    /// # Errors
    /// When the descriptors that were compiled in are not those of the proto, which a test rules out.
    pub(crate) fn new(shared: Arc<Shared>) -> Result<Grpcs, Error> {
        let schemas: Vec<Schema> =
            shared.served().iter().map(|version| Schema::of(*version)).collect::<Result<_, _>>()?;
        let reflection = || {
            let told = tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET);
            schemas.iter().fold(told, |told, schema| told.register_encoded_file_descriptor_set(schema.descriptors()))
        };
        let others = vec![
            Other::of(HealthServer::new(Health(shared.clone()))),
            Other::of(reflection().build_v1().map_err(Error::internal)?),
            // What many clients still ask.
            Other::of(reflection().build_v1alpha().map_err(Error::internal)?),
        ];
        Ok(Grpcs { shared, schemas: Arc::new(schemas), others: Arc::new(others) })
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if request.method() != Method::POST || !is_grpc(request.headers()) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return response;
        }
        let path = request.uri().path().to_owned();
        let (service, method) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
        if let Some(schema) = self.schemas.iter().find(|schema| schema.service() == service) {
            return self.call(schema, method, &path, request).await;
        }
        match self.others.iter().find(|other| other.name == service) {
            Some(other) => {
                let shared = self.shared.clone();
                (other.call)(request.map(|body| Until::drained(shared, body))).await
            }
            None => status::of(&Error::method_not_found(&path)).into_http(),
        }
    }

    async fn call(&self, schema: &Schema, method: &str, path: &str, request: Request<Incoming>) -> Response<Body> {
        let Some((operation, descriptor)) = schema.method(method) else {
            return status::of(&Error::method_not_found(path)).into_http();
        };
        let limit = self.shared.options.body_bytes;
        let call = Call { shared: self.shared.clone(), dialect: schema.dialect(), operation, descriptor };
        let mut grpc = Grpc::new(Raw).max_decoding_message_size(limit).max_encoding_message_size(usize::MAX);
        grpc.streaming(Serving(call), request).await
    }
}

/// A call as tonic wants it. Every method is taken for one that streams both ways, which looks the same to a client and leaves us to
/// say what is wrong with a message that cannot be read.
struct Serving(Call);

impl StreamingService<Bytes> for Serving {
    type Response = Vec<u8>;
    type ResponseStream = Items;
    type Future = BoxFuture<'static, Result<tonic::Response<Items>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<Bytes>>) -> Self::Future {
        let call = self.0.clone();
        Box::pin(async move {
            let began = Instant::now();
            let mut tenant = Tenant::none();
            let answered = call.answer(request, &mut tenant).await.map_err(|error| status::of(&error));
            log::called(
                call.operation.name(),
                answered.as_ref().err().map_or(0, |status| status.code() as i32),
                began,
                &tenant,
            );
            answered
        })
    }
}

/// Whether a request is gRPC with protobuf in it.
fn is_grpc(headers: &HeaderMap) -> bool {
    let media = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let essence = media.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    essence.eq_ignore_ascii_case(b"application/grpc") || essence.eq_ignore_ascii_case(b"application/grpc+proto")
}

impl Handler for Grpcs {
    type Body = Body;
    const GRPC: bool = true;

    async fn handle(&self, request: Request<Incoming>, _peer: &Peer) -> Response<Body> {
        self.answer(request).await
    }
}
