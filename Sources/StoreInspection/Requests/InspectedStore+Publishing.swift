internal import GRDB
internal import StoreAuthority
package import StoreExchange
internal import StoreFormat
internal import StoreRecords
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
        let (state, container, saved, tables) = try read { db in
            guard try ScopeState.exists(db) else {
                throw UbiquitousStoreError(.unsupported, "\(file) lies in a container of one account, which is not published.", path: file)
            }
            guard try PlaceState.read(db) == nil else {
                throw UbiquitousStoreError(
                    .unsupported, "\(file) reads a public place itself; publish with a store that reads the container's directory.", path: file)
            }
            return (try StoreState.read(db), try ScopeState.read(db).container, try ScopeState.authority(db), try KnownTable.all(db))
        }
        let keys = DeviceKeys(container, in: home)
        guard let root = try keys.record?.root else {
            throw UbiquitousStoreError(.unsupported, "This device home has no keys for the container \(container).", path: file)
        }
        let access = saved.flatMap { Authority(saved: $0.bytes) }?.policy?.value.access ?? [:]
        let shapes = try read { db in try tables.map { table in try table.shape(access[table.name], db) } }
        let scope = ScopeRegistration(home: home, root: FilePath(root)).directory(container)
        let publisher = PlacePublisher(
            store: file, shapes: shapes, layout: ContentLayout(container: scope.path, content: state.content), contentName: state.content,
            directory: scope, keys: keys, to: PathFacts.absolute(directory), options: publishing)
        return try publisher.publish()
    }
}
