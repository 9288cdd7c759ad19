import Foundation
import SystemPackage
import UbiquityContainers

/// What a query searches for, as its properties say.
struct MetadataSearch: @unchecked Sendable {
    // `NSPredicate` and the scopes are not changed after they have been set; a predicate is evaluated by one thread at a time.
    var predicate: NSPredicate?
    var scopes: [Any] = [NSMetadataQueryUbiquitousDocumentsScope]
    var order: [MetadataSortDescriptor] = []
    var interval: TimeInterval = 1
    var containerIdentifiers: [String]?
    var home: DeviceHome?
    var clock: any Clock<Duration> = ContinuousClock()

    /// Returns the containers to search; one that cannot be found is left out.
    func containers(in home: DeviceHome) async -> [UbiquityContainer] {
        let names = containerIdentifiers ?? (try? UbiquityContainer.declared(in: home))?.map(\.description) ?? []
        var containers: [UbiquityContainer] = []
        for name in names { if let container = try? await UbiquityContainer(name, home: home) { containers.append(container) } }
        return containers
    }

    /// An interval of any number of seconds; more than a day is a day.
    static func interval(_ seconds: TimeInterval) -> Duration { .seconds(min(max(0, seconds.isNaN ? 0 : seconds), 86_400)) }

    /// Makes the query, without starting it.
    func query(_ containers: [UbiquityContainer]) -> MetadataQuery {
        let search = self
        let scopes = MetadataScopes(scopes, containers)
        return MetadataQuery(
            containers: containers, scope: scopes.scope, batchingInterval: Self.interval(interval), transport: { DirectoryTransport($0) },
            sortedBy: { order.areInOrder($0, $1) }, clock: clock
        ) { item in scopes.contains(item.path) && search.predicate?.evaluate(with: NSMetadataItem(item)) ?? false }
    }
}

/// The parts of containers that a query searches.
struct MetadataScopes: Sendable {
    /// The parts that the query of the containers has to look at.
    let scope: MetadataQuery.Scope
    /// The parts that the scopes name.
    private let named: MetadataQuery.Scope
    private let documents: [FilePath]
    /// The directories that the scopes name, as the containers spell them.
    private let directories: [FilePath]

    /// Reads scopes: Cocoa's two constants, file URLs, and paths.
    init(_ scopes: [Any], _ containers: [UbiquityContainer]) {
        var named: MetadataQuery.Scope = scopes.isEmpty ? [.documents, .data] : []
        var directories: [FilePath] = []
        for scope in scopes {
            let text = (scope as? URL)?.path(percentEncoded: false) ?? (scope as? NSURL)?.path ?? (scope as? String)
            switch text {
            case NSMetadataQueryUbiquitousDocumentsScope: named.insert(.documents)
            case NSMetadataQueryUbiquitousDataScope: named.insert(.data)
            case let text?: directories += Self.spellings(of: FilePath(text).lexicallyNormalized(), in: containers.map(\.path))
            case nil: continue
            }
        }
        self.named = named
        self.directories = directories
        scope = directories.isEmpty ? named : [.documents, .data]
        documents = containers.map(\.documents)
    }

    /// Returns a directory as given and, if it lies in a container by another spelling, as the container spells it.
    private static func spellings(of directory: FilePath, in containers: [FilePath]) -> [FilePath] {
        let real = resolved(directory)
        return [directory]
            + containers.compactMap { container in
                var relative = real
                let place = resolved(container)
                if place.starts(with: real) { return container }
                return relative.removePrefix(place) ? container.pushing(relative) : nil
            }
    }

    private static func resolved(_ path: FilePath) -> FilePath {
        FilePath(URL(filePath: path.string).resolvingSymlinksInPath().path(percentEncoded: false)).lexicallyNormalized()
    }

    /// Returns whether an item is in one of the scopes.
    func contains(_ item: FilePath) -> Bool {
        if directories.contains(where: { item.starts(with: $0) }) { return true }
        guard named != [.documents, .data] else { return true }
        guard !named.isEmpty else { return false }
        return documents.contains { item.starts(with: $0) && item != $0 } == named.contains(.documents)
    }
}
