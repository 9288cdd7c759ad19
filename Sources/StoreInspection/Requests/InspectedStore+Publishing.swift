internal import GRDB
internal import StoreAuthority
package import StoreExchange
package import StoreFormat
package import StoreRecords
package import SystemPackage
package import UbiquityContainers

extension InspectedStore {
    /// Publishes the public container of a store to a directory, as far as the store's app has taken the container in.
    ///
    /// The store may be in use. Nothing is written to it, and nothing is exchanged.
    ///
    /// - Parameters:
    ///   - directory: the directory of the public place.
    ///   - home: the device home, which has the publisher's keys.
    ///   - publishing: how long heads, bundles and snapshots are kept.
    /// - Returns: what has been published.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the store does not lie in a public container's directory or this
    ///   device may not publish, with `suspended` if the store waits for something, with `timedOut` if another process
    ///   publishes there; `Errno`; GRDB's errors.
    package func publishPlace(to directory: FilePath, home: DeviceHome, _ publishing: PlacePublishing) throws -> PublishedEdition {
        let facts = try publishingFacts(home)
        let publisher = PlacePublisher(
            store: file, shapes: facts.shapes, layout: ContentLayout(container: facts.directory.path, content: facts.content),
            contentName: facts.content, directory: facts.directory, keys: facts.keys, to: PathFacts.absolute(directory), options: publishing)
        return try publisher.publish()
    }

    /// Brings what contributors have written to directories of their own into the public container's directory, from where the
    /// store's app takes it in.
    ///
    /// - Parameters:
    ///   - roots: the directories that the contributors' stores name with `contributingTo`.
    ///   - home: the device home.
    /// - Returns: what has been brought, and what was refused.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the store does not lie in a public container's directory, or with
    ///   `suspended` if it has read nothing yet; `Errno` if the container cannot be written to; GRDB's errors.
    package func gatherContributions(from roots: [FilePath], home: DeviceHome) throws -> GatheredContributions {
        let facts = try publishingFacts(home)
        guard let authority = facts.authority else {
            throw UbiquitousStoreError(.suspended, "\(file) has not read its container yet; run its app first.", path: file)
        }
        var gatherer = ContributionGatherer(
            into: facts.directory, content: facts.content, contentName: facts.content, epoch: facts.epoch, shapes: facts.shapes, authority: authority)
        return try gatherer.gather(from: roots.map(PathFacts.absolute))
    }

    /// What a publisher's store says of its container.
    private struct PublishingFacts {
        var content: String
        var epoch: Int64
        var authority: Authority?
        var shapes: [TableShape]
        var directory: ScopeDirectory
        var keys: DeviceKeys
    }

    private func publishingFacts(_ home: DeviceHome) throws -> PublishingFacts {
        let (state, container, authority, shapes) = try read { db in
            try requireScope(db)
            guard try PlaceState.read(db) == nil else {
                throw UbiquitousStoreError(
                    .unsupported, "\(file) reads a public place itself; publish with a store that reads the container's directory.", path: file)
            }
            let authority = try ScopeState.authority(db).flatMap { Authority(saved: $0.bytes) }
            let access = authority?.policy?.value.access ?? [:]
            let shapes = try KnownTable.all(db).map { table in try table.shape(access[table.name], db) }
            return (try StoreState.read(db), try ScopeState.read(db).container, authority, shapes)
        }
        let keys = DeviceKeys(container, in: home)
        guard let root = try keys.record?.root else {
            throw UbiquitousStoreError(.unsupported, "This device home has no keys for the container \(container).", path: file)
        }
        return PublishingFacts(
            content: state.content, epoch: state.epoch, authority: authority, shapes: shapes,
            directory: ScopeRegistration(home: home, root: FilePath(root)).directory(container), keys: keys)
    }

    /// What is needed to read a public place as a store reads it.
    package struct PlaceFacts {
        package let container: ScopeIdentifier
        package let contentName: String
        /// The tables that the place and the store have in common, as the store has them.
        package let schema: SyncedSchema
        /// How far the store itself has read a place; nil if it reads none.
        package let state: PlaceState?
    }

    /// Returns what is needed to read the public place of a store's container.
    ///
    /// - Returns: the facts.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the store lies in a container of one account, or with
    ///   `suspended` if it has read nothing yet; GRDB's errors.
    package func placeFacts() throws -> PlaceFacts {
        try read { db in
            try requireScope(db)
            guard let policy = try ScopeState.authority(db).flatMap({ Authority(saved: $0.bytes) })?.policy else {
                throw UbiquitousStoreError(.suspended, "\(file) has not read its container yet; run its app first.", path: file)
            }
            return PlaceFacts(
                container: try ScopeState.read(db).container, contentName: try StoreState.read(db).content,
                schema: try SyncedSchema(ofStore: db, access: policy.value.access), state: try PlaceState.read(db))
        }
    }

    private func requireScope(_ db: Database) throws {
        guard try ScopeState.exists(db) else {
            throw UbiquitousStoreError(.unsupported, "\(file) lies in a container of one account, which is not published.", path: file)
        }
    }
}
