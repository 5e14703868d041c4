//! The services, each by the descriptors of its proto: which method means which operation.

use prost_reflect::{DescriptorPool, MethodDescriptor, ServiceDescriptor};
use wire::{Error, Version};

use crate::dialect::Dialect;
use crate::operation::Operation;

/// What 0.3 calls the operations whose name is another one there.
const V03: &[(&str, Operation)] = &[
    ("TaskSubscription", Operation::SubscribeToTask),
    ("ListTaskPushNotificationConfig", Operation::ListTaskPushNotificationConfigs),
    ("GetAgentCard", Operation::GetExtendedAgentCard),
];

/// The full name of the service of a version.
pub(crate) const fn service_of(version: Version) -> &'static str {
    match version {
        Version::V1 => "lf.a2a.v1.A2AService",
        Version::V03 => "a2a.v1.A2AService",
    }
}

/// A proto and what it imports, as a `google.protobuf.FileDescriptorSet`.
const fn descriptors_of(version: Version) -> &'static [u8] {
    match version {
        Version::V1 => include_bytes!(concat!(env!("OUT_DIR"), "/a2a.binpb")),
        Version::V03 => include_bytes!(concat!(env!("OUT_DIR"), "/a2a_v03.binpb")),
    }
}

/// A service and, by it, every message.
pub(crate) struct Schema {
    version: Version,
    service: ServiceDescriptor,
}

impl Schema {
    /// # Errors
    /// When the descriptors do not hold the service.
    pub(crate) fn of(version: Version) -> Result<Schema, Error> {
        let pool = DescriptorPool::decode(descriptors_of(version)).map_err(Error::internal)?;
        let name = service_of(version);
        let service = pool.get_service_by_name(name);
        let service = service.ok_or_else(|| Error::internal(format!("a proto without its service {name}")))?;
        Ok(Schema { version, service })
    }

    /// What reflection tells.
    pub(crate) fn descriptors(&self) -> &'static [u8] {
        descriptors_of(self.version)
    }

    /// The service's full name.
    pub(crate) fn service(&self) -> &'static str {
        service_of(self.version)
    }

    /// What its messages are, printed as ProtoJSON.
    pub(crate) fn dialect(&self) -> Dialect {
        match self.version {
            Version::V1 => Dialect::V1,
            Version::V03 => Dialect::Proto03,
        }
    }

    /// The method of that name.
    pub(crate) fn method(&self, name: &str) -> Option<(Operation, MethodDescriptor)> {
        let descriptor = self.service.methods().find(|method| method.name() == name)?;
        let renamed = V03.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation);
        let same = || Operation::ALL.iter().copied().find(|operation| operation.name() == name);
        Some((renamed.or_else(same)?, descriptor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_of_a_proto_is_an_operation() {
        for (version, count) in [(Version::V1, 11), (Version::V03, 10)] {
            let schema = Schema::of(version).unwrap();
            let mut operations: Vec<&str> = Vec::new();
            for method in schema.service.methods() {
                let (operation, descriptor) = schema.method(method.name()).unwrap();
                assert_eq!(operation.streams(), descriptor.is_server_streaming(), "{}", method.name());
                operations.push(operation.name());
            }
            operations.sort_unstable();
            operations.dedup();
            assert_eq!(operations.len(), count);
        }
    }
}
