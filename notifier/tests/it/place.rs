//! A store of its own for each test, what the engine would write into it, and notifiers on it.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use engine::address::WebhookPolicy;
use engine::bus::{Bus, Hint};
use engine::clock::Clock;
use engine::secret::SecretKey;
use engine::store::{Store, Write, push};
use entity::{push_attempt, push_config, push_delivery, push_lane, task_event};
use futures_util::FutureExt;
use migration::Migrator;
use notifier::{Notifier, Options, Schedule};
use sea_orm::sea_query::{Expr, ExprTrait, Func, Query, UpdateStatement};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, IntoActiveModel, QueryFilter, QueryOrder, Set};
use sea_orm_migration::MigratorTrait;
use tokio::sync::oneshot;
use uuid::Uuid;

/// Where a test takes place.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) store: Store,
    pub(crate) bus: Bus,
    pub(crate) clock: Clock,
    pub(crate) secrets: Arc<SecretKey>,
}

async fn run<F: Future<Output = ()>>(url: &str, test: impl FnOnce(Place) -> F) -> std::thread::Result<()> {
    let store = Store::connect(url, 8).await.unwrap();
    Migrator::up(store.read(), None).await.unwrap();
    let secrets = Arc::new(SecretKey::new(&[7; 32]).unwrap());
    let place = Place { store: store.clone(), bus: Bus::in_process(), clock: Clock::system(), secrets };
    let result = AssertUnwindSafe(test(place)).catch_unwind().await;
    store.close().await;
    result
}

pub(crate) async fn on_sqlite<F: Future<Output = ()>>(test: impl FnOnce(Place) -> F) {
    let dir = std::env::temp_dir().join(format!("taskyard-notifier-{}", Uuid::now_v7().simple()));
    std::fs::create_dir(&dir).unwrap();
    let result = run(&format!("sqlite://{}", dir.join("test.db").display()), test).await;
    std::fs::remove_dir_all(&dir).unwrap();
    if let Err(panic) = result {
        resume_unwind(panic);
    }
}

pub(crate) async fn on_postgres<F: Future<Output = ()>>(test: impl FnOnce(Place) -> F) {
    let Ok(server) = std::env::var("TASKYARD_TEST_POSTGRES") else {
        let optional = std::env::var("TASKYARD_TEST_SERVICES_OPTIONAL").is_ok_and(|value| value == "1");
        assert!(
            optional,
            "TASKYARD_TEST_POSTGRES is not set: run `./test`; TASKYARD_TEST_SERVICES_OPTIONAL=1 does without"
        );
        return;
    };
    let (authority, name) = server.split_once("://").unwrap();
    let authority = format!("{authority}://{}", name.split('/').next().unwrap());
    let admin = Store::connect(&format!("{authority}/postgres"), 1).await.unwrap();
    let name = format!("notifier_{}", Uuid::now_v7().simple());
    admin.read().execute_unprepared(&format!("CREATE DATABASE {name}")).await.unwrap();
    let result = run(&format!("{authority}/{name}"), test).await;
    admin.read().execute_unprepared(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
    admin.close().await;
    if let Err(panic) = result {
        resume_unwind(panic);
    }
}

/// A notifier that runs until it is stopped.
pub(crate) struct Running {
    stop: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<Result<(), notifier::Error>>,
}

impl Running {
    pub(crate) async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }

    /// As a kill would: nothing is finished, nothing is given back.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _killed = self.task.await;
    }
}

/// Loopback, and no waiting between attempts.
pub(crate) fn options() -> Options {
    let webhooks = WebhookPolicy { allow_loopback: true, ..WebhookPolicy::default() };
    Options { webhooks, schedule: Schedule::new([Duration::ZERO; 11]), ..Options::default() }
}

impl Place {
    pub(crate) fn notify(&self, options: Options) -> Running {
        let Place { store, bus, clock, secrets } = self.clone();
        self.notify_on(Notifier { store, bus, clock, secrets, options })
    }

    pub(crate) fn notify_on(&self, notifier: Notifier) -> Running {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(notifier::run(notifier, async move {
            let _dropped = stopped.await;
        }));
        Running { stop: Some(stop), task }
    }

    /// A config to `url` and its lane.
    pub(crate) async fn lane(&self, url: &str) -> Lane {
        self.lane_with(url, |_| {}).await
    }

    /// A lane of `tenant`'s.
    pub(crate) async fn lane_of(&self, tenant: &str, url: &str) -> Lane {
        self.lane_with(url, |config| config.tenant = tenant.into()).await
    }

    pub(crate) async fn lane_with(&self, url: &str, change: impl FnOnce(&mut push_config::Model)) -> Lane {
        let (id, task_id) = (Uuid::now_v7(), Uuid::now_v7());
        let mut config = push_config::Model {
            id,
            tenant: String::new(),
            task_id,
            config_id: id.to_string(),
            url: url.into(),
            token: None,
            scheme: None,
            credentials: None,
            version: "1.0".into(),
            created_at: self.clock.now(),
        };
        change(&mut config);
        let (tenant, task_id) = (config.tenant.clone(), config.task_id);
        let lane = push_lane::Model {
            id,
            tenant: tenant.clone(),
            task_id,
            head: 1,
            tail: 0,
            due_at: None,
            holder: None,
            fence: 0,
            attempts: 0,
            closed: false,
        };
        let mut write = Write::new();
        write.insert(config.into_active_model());
        write.insert(lane.into_active_model());
        self.store.write(write).await.unwrap();
        Lane { place: self.clone(), id, tenant, task: task_id, written: 0 }
    }
}

/// One lane, with the eyes and hands of a test.
pub(crate) struct Lane {
    pub(crate) place: Place,
    pub(crate) id: Uuid,
    tenant: String,
    pub(crate) task: Uuid,
    written: i64,
}

/// What a test sends as an event.
pub(crate) fn event(n: i64) -> String {
    format!(r#"{{"statusUpdate": {{"n":{n} , "text": "é\u0000 1.0e3"}}}}"#)
}

/// What the engine does to every lane of a task, for one.
fn extend_lane(lane: Uuid, now: i64) -> UpdateStatement {
    use push_lane::Column::{DueAt, Id, Tail};
    Query::update()
        .table(push_lane::Entity)
        .value(Tail, Expr::col(Tail).add(1))
        .value(DueAt, Func::coalesce([Expr::col(DueAt), Expr::val(now)]))
        .and_where(Expr::col(Id).eq(lane))
        .to_owned()
}

impl Lane {
    /// Write `count` events as the engine does, each in a write of its own, and hint.
    pub(crate) async fn events(&mut self, count: i64) {
        for _ in 0..count {
            let number = self.written + 1;
            self.write(Some(event(number)), None).await;
        }
    }

    /// Write one delivery, with an event or a body of its own or neither.
    pub(crate) async fn write(&mut self, event: Option<String>, body: Option<String>) {
        self.written += 1;
        let now = self.place.clock.now();
        let mut write = Write::new();
        if let Some(body) = event {
            let event = task_event::Model { task_id: self.task, generation: self.written, at: now, body, epoch: None };
            write.insert(event.into_active_model());
        }
        let delivery = push_delivery::Model {
            lane_id: self.id,
            sequence: self.written,
            tenant: self.tenant.clone(),
            task_id: self.task,
            generation: self.written,
            body,
            state: push_delivery::State::Pending,
            attempts: 0,
            created_at: now,
            ended_at: None,
        };
        write.insert(delivery.into_active_model());
        write.update(extend_lane(self.id, now));
        self.place.store.write(write).await.unwrap();
        self.place.bus.send([Hint::Delivery]);
    }

    /// Delete the config as the engine does.
    pub(crate) async fn delete(&self) {
        let mut write = Write::new();
        write.must_update(push::close_lane(self.id));
        write.delete(push::delete_config(self.id));
        write.update(push::cancel_deliveries(self.id, self.place.clock.now()));
        self.place.store.write(write).await.unwrap();
        engine::store::delivery::holder_gone(&self.place.store, self.id).await.unwrap();
    }

    pub(crate) async fn config(&self, change: impl FnOnce(&mut push_config::ActiveModel)) {
        let mut config = push_config::ActiveModel { id: Set(self.id), ..Default::default() };
        change(&mut config);
        config.update(self.place.store.read()).await.unwrap();
    }

    /// An event that was written while the config was deleted: the lane is due and leads nowhere.
    pub(crate) async fn config_gone(mut self) {
        self.events(1).await;
        let mut write = Write::new();
        write.delete(push::delete_config(self.id));
        self.place.store.write(write).await.unwrap();
    }

    pub(crate) async fn row(&self) -> push_lane::Model {
        let lanes = push_lane::Entity::across_tenants().filter(push_lane::Column::Id.eq(self.id));
        lanes.one(self.place.store.read()).await.unwrap().unwrap()
    }

    pub(crate) async fn deliveries(&self) -> Vec<push_delivery::Model> {
        push_delivery::Entity::across_tenants()
            .filter(push_delivery::Column::LaneId.eq(self.id))
            .order_by_asc(push_delivery::Column::Sequence)
            .all(self.place.store.read())
            .await
            .unwrap()
    }

    /// Sequence, outcome and status of each attempt, in order.
    pub(crate) async fn attempts(&self) -> Vec<(i64, String, Option<i16>)> {
        let mut attempts = push_attempt::Entity::of_lane(self.id).all(self.place.store.read()).await.unwrap();
        attempts.sort_by_key(|attempt| (attempt.sequence, attempt.attempt));
        attempts.into_iter().map(|attempt| (attempt.sequence, attempt.outcome, attempt.status)).collect()
    }

    /// Wait until the lane is idle and let go.
    pub(crate) async fn idle(&self) {
        crate::until("the lane is idle", || async {
            let row = self.row().await;
            row.due_at.is_none() && row.holder.is_none()
        })
        .await;
    }

    /// Nothing is left to do, every delivery is in `state`, and the lane says so.
    pub(crate) async fn all(&self, state: push_delivery::State) {
        self.idle().await;
        let row = self.row().await;
        assert_eq!((row.head, row.tail, row.attempts), (self.written + 1, self.written, 0));
        for delivery in self.deliveries().await {
            assert_eq!(delivery.state, state, "{delivery:?}");
            assert!(delivery.ended_at.is_some());
        }
    }
}
