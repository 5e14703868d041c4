//! The standard health service: what `/readyz` says, for probes that speak gRPC.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_server};

use super::schema::service_of;
use crate::app::Shared;
use crate::health;

/// How often a watched status is looked at.
const EVERY: Duration = Duration::from_secs(2);

/// Of the process, under the empty name, and of the services.
pub(crate) struct Health(pub(crate) Arc<Shared>);

#[tonic::async_trait]
impl health_server::Health for Health {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        match status(&self.0, &request.get_ref().service).await {
            ServingStatus::ServiceUnknown => Err(Status::not_found("there is no such service")),
            known => Ok(Response::new(HealthCheckResponse { status: known.into() })),
        }
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let service = request.into_inner().service;
        let shared = self.0.clone();
        let watched = stream::unfold((None, false), move |(told, ended)| {
            let (shared, service) = (shared.clone(), service.clone());
            async move {
                if ended {
                    return None;
                }
                loop {
                    // Before the status, which is then what it ends with.
                    let ended = shared.is_draining();
                    let now = status(&shared, &service).await;
                    if told != Some(now) {
                        return Some((Ok(HealthCheckResponse { status: now.into() }), (Some(now), ended)));
                    }
                    if ended {
                        return None;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(EVERY) => {}
                        () = shared.drained() => {}
                    }
                }
            }
        });
        Ok(Response::new(watched.boxed()))
    }
}

async fn status(shared: &Shared, service: &str) -> ServingStatus {
    let known = service.is_empty() || shared.served().iter().any(|version| service_of(*version) == service);
    if !known {
        return ServingStatus::ServiceUnknown;
    }
    if health::obstacles(shared).await.is_empty() { ServingStatus::Serving } else { ServingStatus::NotServing }
}
