//! A client that makes its messages by the proto's descriptors.

use std::sync::LazyLock;
use std::time::Duration;

use api::{Listeners, Options};
use engine::Engine;
use poem::http::uri::PathAndQuery;
use prost::Message;
use prost::bytes::{Buf, BufMut};
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor, ServiceDescriptor};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_types::pb;

pub(crate) static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(include_bytes!(concat!(env!("OUT_DIR"), "/a2a.binpb")).as_slice()).unwrap()
});

/// That of 0.3.
pub(crate) static POOL_V03: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(include_bytes!(concat!(env!("OUT_DIR"), "/a2a_v03.binpb")).as_slice()).unwrap()
});

pub(crate) fn service() -> ServiceDescriptor {
    POOL.get_service_by_name("lf.a2a.v1.A2AService").unwrap()
}

pub(crate) fn service_v03() -> ServiceDescriptor {
    POOL_V03.get_service_by_name("a2a.v1.A2AService").unwrap()
}

pub(crate) fn method(name: &str) -> MethodDescriptor {
    method_of(&service(), name)
}

pub(crate) fn method_of(service: &ServiceDescriptor, name: &str) -> MethodDescriptor {
    service.methods().find(|method| method.name() == name).unwrap()
}

/// A served platform, and a connection to it.
pub(crate) struct Remote {
    pub(crate) channel: Channel,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Remote {
    pub(crate) async fn of(engine: &Engine) -> Remote {
        Remote::with(engine, Options { drain: Duration::from_secs(5), ..Options::default() }).await
    }

    /// Served with these options.
    pub(crate) async fn with(engine: &Engine, options: Options) -> Remote {
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let grpc = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = grpc.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let listeners = Listeners { http, grpc: Some(grpc) };
        let serving = tokio::spawn(api::serve(engine.clone(), listeners, options, async {
            let _told = stopped.await;
        }));
        let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
        Remote { channel, stop: Some(stop), serving }
    }

    /// Tell the process to end.
    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Wait for the end of the process.
    pub(crate) async fn ended(mut self) {
        tokio::time::timeout(Duration::from_secs(3), &mut self.serving).await.unwrap().unwrap();
    }

    pub(crate) async fn call(&self, name: &str, request: Value) -> Result<Value, Status> {
        self.call_with(name, request, &[("a2a-version", "1.0")]).await
    }

    pub(crate) async fn call_with(
        &self,
        name: &str,
        request: Value,
        metadata: &[(&str, &str)],
    ) -> Result<Value, Status> {
        let answer = self.raw(name, encode(name, request), metadata).await?;
        Ok(decode(name, &answer))
    }

    pub(crate) async fn raw(&self, name: &str, bytes: Vec<u8>, metadata: &[(&str, &str)]) -> Result<Vec<u8>, Status> {
        self.at(&format!("/lf.a2a.v1.A2AService/{name}"), bytes, metadata).await
    }

    pub(crate) async fn at(&self, path: &str, bytes: Vec<u8>, metadata: &[(&str, &str)]) -> Result<Vec<u8>, Status> {
        let mut grpc = Grpc::new(self.channel.clone());
        grpc.ready().await.unwrap();
        Ok(grpc.unary(request(bytes, metadata), path.parse::<PathAndQuery>().unwrap(), Bare).await?.into_inner())
    }

    /// Open a stream with the version beside `metadata`; the answer's own metadata stands beside it.
    pub(crate) async fn open(
        &self,
        name: &'static str,
        sent: Value,
        metadata: &[(&str, &str)],
    ) -> Result<(Stream, MetadataMap), Status> {
        self.open_method(method(name), sent, &[&[("a2a-version", "1.0")], metadata].concat()).await
    }

    /// Open a stream of whichever service the method is of.
    pub(crate) async fn open_method(
        &self,
        method: MethodDescriptor,
        sent: Value,
        metadata: &[(&str, &str)],
    ) -> Result<(Stream, MetadataMap), Status> {
        let mut grpc = Grpc::new(self.channel.clone());
        grpc.ready().await.unwrap();
        let path = path_of(&method).parse::<PathAndQuery>().unwrap();
        let answer = grpc.server_streaming(request(encode_as(&method, sent), metadata), path, Bare).await?;
        let (metadata, items, _) = answer.into_parts();
        Ok((Stream { method, items }, metadata))
    }

    /// Call a method of whichever service it is of; the answer's metadata stands beside it.
    pub(crate) async fn call_method(
        &self,
        method: MethodDescriptor,
        sent: Value,
        metadata: &[(&str, &str)],
    ) -> Result<(Value, MetadataMap), Status> {
        let mut grpc = Grpc::new(self.channel.clone());
        grpc.ready().await.unwrap();
        let path = path_of(&method).parse::<PathAndQuery>().unwrap();
        let (metadata, bytes, _) =
            grpc.unary(request(encode_as(&method, sent), metadata), path, Bare).await?.into_parts();
        Ok((decode_as(&method, &bytes), metadata))
    }

    /// The HTTP status of a request that may not be gRPC.
    pub(crate) async fn http(&self, method: &str, media: &str) -> u16 {
        let request = poem::http::Request::builder()
            .method(method)
            .uri("http://localhost/lf.a2a.v1.A2AService/GetTask")
            .header("content-type", media)
            .body(tonic::body::Body::empty())
            .unwrap();
        let mut channel = self.channel.clone();
        std::future::poll_fn(|cx| tonic::codegen::Service::poll_ready(&mut channel, cx)).await.unwrap();
        tonic::codegen::Service::call(&mut channel, request).await.unwrap().status().as_u16()
    }
}

/// The items of a stream.
pub(crate) struct Stream {
    method: MethodDescriptor,
    items: tonic::Streaming<Vec<u8>>,
}

impl Stream {
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, Status> {
        let waited = tokio::time::timeout(Duration::from_secs(5), self.items.message()).await;
        Ok(waited.expect("an item within 5 s")?.map(|bytes| decode_as(&self.method, &bytes)))
    }

    /// Everything up to the end.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut items = Vec::new();
        while let Some(item) = self.next().await.unwrap() {
            items.push(item);
        }
        items
    }
}

fn request(bytes: Vec<u8>, metadata: &[(&str, &str)]) -> Request<Vec<u8>> {
    let mut request = Request::new(bytes);
    for (key, value) in metadata {
        request.metadata_mut().insert(key.parse::<tonic::metadata::MetadataKey<_>>().unwrap(), value.parse().unwrap());
    }
    request
}

/// The request of a method.
pub(crate) fn encode(name: &str, request: Value) -> Vec<u8> {
    encode_as(&method(name), request)
}

fn encode_as(method: &MethodDescriptor, request: Value) -> Vec<u8> {
    DynamicMessage::deserialize(method.input(), request).unwrap().encode_to_vec()
}

fn decode(name: &str, answer: &[u8]) -> Value {
    decode_as(&method(name), answer)
}

/// The answer of a method, its whole numbers without a fraction.
fn decode_as(method: &MethodDescriptor, answer: &[u8]) -> Value {
    plain(serde_json::to_value(DynamicMessage::decode(method.output(), answer).unwrap()).unwrap())
}

fn path_of(method: &MethodDescriptor) -> String {
    format!("/{}/{}", method.parent_service().full_name(), method.name())
}

fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, plain(value))).collect(),
        Value::Number(number) => match number.as_f64() {
            Some(double) if double.fract() == 0.0 => Value::from(double as i64),
            _ => Value::Number(number),
        },
        other => other,
    }
}

fn details(status: &Status) -> Vec<prost_reflect::prost_types::Any> {
    let told = pb::Status::decode(status.details()).unwrap();
    assert_eq!((told.code, told.message.as_str()), (status.code() as i32, status.message()));
    told.details
}

fn detail<T: Message + Default>(status: &Status, name: &str) -> Option<T> {
    let url = format!("type.googleapis.com/google.rpc.{name}");
    let found = details(status).into_iter().find(|detail| detail.type_url == url)?;
    Some(T::decode(found.value.as_slice()).unwrap())
}

pub(crate) fn info(status: &Status) -> pb::ErrorInfo {
    detail(status, "ErrorInfo").unwrap_or_else(|| panic!("{status:?} without an ErrorInfo"))
}

pub(crate) fn reason(status: &Status) -> String {
    info(status).reason
}

pub(crate) fn violations(status: &Status) -> Vec<pb::bad_request::FieldViolation> {
    detail::<pb::BadRequest>(status, "BadRequest").unwrap_or_default().field_violations
}

pub(crate) fn fields(status: &Status) -> Vec<String> {
    violations(status).into_iter().map(|violation| violation.field).collect()
}

pub(crate) fn retries(status: &Status) -> bool {
    detail::<pb::RetryInfo>(status, "RetryInfo").is_some()
}

#[derive(Debug, Clone, Copy)]
struct Bare;

impl Codec for Bare {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Bare;
    type Decoder = Bare;
    fn encoder(&mut self) -> Bare {
        Bare
    }
    fn decoder(&mut self) -> Bare {
        Bare
    }
}

impl Encoder for Bare {
    type Item = Vec<u8>;
    type Error = Status;
    fn encode(&mut self, message: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        into.put_slice(&message);
        Ok(())
    }
}

impl Decoder for Bare {
    type Item = Vec<u8>;
    type Error = Status;
    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining()).into()))
    }
}
