//! The key that this deployment seals secrets with, and the mark by which its processes know that they have the same one.

use sea_orm::{ColumnTrait, DbErr, QueryFilter};
use wire::Error;

use crate::secret::SecretKey;
use crate::{Engine, StartError, Store, database, store};

/// The deployment's key for secrets: the operator's, or else one the deployment makes for itself and keeps in the database. What it
/// marks is kept too, so that a process with another key refuses to start rather than fail to open every secret.
///
/// # Errors
/// When the key is not 32 bytes, is not the one secrets are sealed with, or the database fails.
pub async fn secret_key(store: &Store, operators: Option<&[u8]>, now: i64) -> Result<SecretKey, StartError> {
    let bytes = match operators {
        Some(bytes) => bytes.to_vec(),
        None => keep(store, "own", SecretKey::generate()?.to_vec(), now).await?,
    };
    let key = SecretKey::new(&bytes)?;
    let mark = mark_of(&key);
    let kept = keep(store, MARK, mark.clone(), now).await?;
    if kept == mark {
        return Ok(key);
    }
    let failed = |source| StartError::Database { doing: "looking for sealed secrets", source };
    if any_sealed(store).await.map_err(failed)? {
        return Err(StartError::SecretMismatch);
    }
    // Nothing is sealed yet, so nothing is lost with the other key.
    let mut write = store::Write::new();
    write.must_update(store::secret_key::replace(MARK, &kept, &mark));
    match store.write(write).await {
        Ok(()) => {}
        Err(store::WriteError::Lost) => return Err(StartError::SecretMismatch),
        Err(store::WriteError::Failed(source)) => return Err(failed(source)),
    }
    // A process with the other key may have sealed something between the look and the write: then the key stays what it was.
    if any_sealed(store).await.map_err(failed)? {
        let mut back = store::Write::new();
        back.update(store::secret_key::replace(MARK, &mark, &kept));
        return match store.write(back).await {
            Err(store::WriteError::Failed(source)) => Err(failed(source)),
            _ => Err(StartError::SecretMismatch),
        };
    }
    Ok(key)
}

fn mark_of(key: &SecretKey) -> Vec<u8> {
    key.mac(&[b"taskyard secrets key"])
}

/// Whether anything is sealed that another key would not open.
async fn any_sealed(store: &Store) -> Result<bool, DbErr> {
    Ok(store::push::any_sealed(store.read()).await? || store::signing_key::any(store.read()).await?)
}

/// Refuse to seal with a key that is no longer the deployment's: as long as nothing was sealed, a process that starts may bring another,
/// and what this one seals would never be opened again.
///
/// # Errors
/// When it is another key, or the database fails.
pub(crate) async fn check(store: &Store, secrets: &SecretKey) -> Result<(), StartError> {
    use entity::secret_key::{Column, Entity};
    let marked = Entity::of_deployment().filter(Column::Id.eq(MARK)).one(store.read()).await;
    let doing = "reading which secrets key the deployment has";
    match marked.map_err(|source| StartError::Database { doing, source })? {
        Some(marked) if marked.key != mark_of(secrets) => Err(StartError::SecretMismatch),
        _ => Ok(()),
    }
}

impl Engine {
    /// As [`check`], for whoever sends a secret.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(crate) async fn check_secrets_key(&self) -> Result<(), Error> {
        match check(self.store(), self.secrets()).await {
            Err(StartError::Database { doing, source }) => Err(database(doing)(source)),
            Err(error) => Err(Error::unavailable(
                "this replica cannot keep secrets of push configs: it was started with another secrets key than the rest; try again",
            )
            .caused_by(error)),
            Ok(()) => Ok(()),
        }
    }
}

/// Where the mark of the key in use is kept.
const MARK: &str = "mark";

/// What is kept under `id`: `value`, or what an earlier process put there.
async fn keep(store: &Store, id: &str, value: Vec<u8>, now: i64) -> Result<Vec<u8>, StartError> {
    use entity::secret_key::{ActiveModel, Column, Entity, Model};
    let failed = |source| StartError::Database { doing: "reading the deployment's secrets key", source };
    let read = async || Entity::of_deployment().filter(Column::Id.eq(id)).one(store.read()).await.map_err(failed);
    if let Some(kept) = read().await? {
        return Ok(kept.key);
    }
    let mut write = store::Write::new();
    write.insert(ActiveModel::from(Model { id: id.to_owned(), key: value, created_at: now }));
    match store.write(write).await {
        // Lost: another process put it there in the same moment.
        Ok(()) | Err(store::WriteError::Lost) => Ok(read().await?.map(|kept| kept.key).unwrap_or_default()),
        Err(store::WriteError::Failed(source)) => Err(failed(source)),
    }
}
