//! What tools ask: reflection and health.

use futures_util::{StreamExt, stream};
use prost::Message;
use prost_reflect::prost_types::FileDescriptorProto;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::client::Remote;
use crate::client::platform;

macro_rules! reflects {
    ($version:ident, $channel:expr) => {{
        use tonic_reflection::pb::$version as pb;
        let mut client = pb::server_reflection_client::ServerReflectionClient::new($channel);
        let asked = [
            pb::server_reflection_request::MessageRequest::ListServices(String::new()),
            pb::server_reflection_request::MessageRequest::FileContainingSymbol("lf.a2a.v1.A2AService".into()),
            pb::server_reflection_request::MessageRequest::FileContainingSymbol("a2a.v1.A2AService".into()),
        ];
        let asked =
            asked.map(|message| pb::ServerReflectionRequest { host: String::new(), message_request: Some(message) });
        let mut answers = client.server_reflection_info(stream::iter(asked)).await.unwrap().into_inner();
        let mut services = Vec::new();
        let mut files = Vec::new();
        while let Some(answer) = answers.message().await.unwrap() {
            match answer.message_response.unwrap() {
                pb::server_reflection_response::MessageResponse::ListServicesResponse(list) => {
                    services.extend(list.service.into_iter().map(|service| service.name));
                }
                pb::server_reflection_response::MessageResponse::FileDescriptorResponse(found) => {
                    files.extend(found.file_descriptor_proto);
                }
                other => panic!("{other:?}"),
            }
        }
        (services, files)
    }};
}

#[tokio::test]
async fn reflection_tells_both_services_in_both_its_versions() {
    let platform = platform().await;
    let remote = Remote::of(&platform.engine).await;
    for (services, files) in [reflects!(v1, remote.channel.clone()), reflects!(v1alpha, remote.channel.clone())] {
        for name in ["lf.a2a.v1.A2AService", "a2a.v1.A2AService", "grpc.health.v1.Health"] {
            assert!(services.iter().any(|service| service == name), "{services:?}");
        }
        for (file, package) in files.iter().zip(["lf.a2a.v1", "a2a.v1"]) {
            let file = FileDescriptorProto::decode(file.as_slice()).unwrap();
            assert_eq!((file.package(), file.service.len()), (package, 1));
        }
        assert_eq!(files.len(), 2);
    }
}

#[tokio::test]
async fn health_is_what_readiness_says() {
    let platform = platform().await;
    let mut remote = Remote::of(&platform.engine).await;
    let mut client = HealthClient::new(remote.channel.clone());
    let of = |service: &str| HealthCheckRequest { service: service.to_owned() };
    for service in ["", "lf.a2a.v1.A2AService"] {
        assert_eq!(client.check(of(service)).await.unwrap().into_inner().status(), ServingStatus::Serving);
    }
    assert_eq!(client.check(of("nobody")).await.unwrap_err().code(), Code::NotFound);
    let mut unknown = client.watch(of("nobody")).await.unwrap().into_inner();
    assert_eq!(unknown.message().await.unwrap().unwrap().status(), ServingStatus::ServiceUnknown);
    drop(unknown);
    let mut watched = client.watch(of("")).await.unwrap().into_inner();
    assert_eq!(watched.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    remote.stop();
    assert_eq!(watched.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    assert!(watched.message().await.unwrap().is_none());
    remote.ended().await;
}

/// A tool that keeps its reflection stream open is answered, and waited for by nobody.
#[tokio::test]
async fn reflection_does_not_hold_up_the_end() {
    use tonic_reflection::pb::v1 as pb;
    let platform = platform().await;
    let mut remote = Remote::of(&platform.engine).await;
    let mut client = pb::server_reflection_client::ServerReflectionClient::new(remote.channel.clone());
    let list = pb::server_reflection_request::MessageRequest::ListServices(String::new());
    let asked = pb::ServerReflectionRequest { host: String::new(), message_request: Some(list) };
    let asked = stream::iter([asked]).chain(stream::pending());
    let mut answers = client.server_reflection_info(asked).await.unwrap().into_inner();
    assert!(answers.message().await.unwrap().is_some());
    remote.stop();
    assert!(answers.message().await.unwrap().is_none());
    // Sooner than the drain allows for.
    remote.ended().await;
}
