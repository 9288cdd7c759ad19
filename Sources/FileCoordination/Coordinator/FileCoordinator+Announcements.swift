public import Foundation
import Glibc
import SystemPackage

extension FileCoordinator {
    /// Tells the presenters of an item that ubiquity attributes of it have changed, each of those that it observes (C-43).
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - attributes: what has changed.
    public func item(at url: URL, didChangeUbiquityAttributes attributes: Set<UbiquityAttribute>) {
        announce(url) { .attributesChanged($0, Set(attributes.map(\.rawValue)), $1) }
    }

    /// Tells presenters of a new version of an item, this coordinator's own included (C-44).
    package func item(at url: URL, didGain version: FileVersionIdentifier) {
        announce(url) { .versionChanged($0, .gained, version: version.rawValue, $1) }
    }

    /// Tells presenters that a version of an item was removed, this coordinator's own included (C-44).
    package func item(at url: URL, didLose version: FileVersionIdentifier) {
        announce(url) { .versionChanged($0, .lost, version: version.rawValue, $1) }
    }

    /// Tells presenters that a version of an item is no longer in conflict, this coordinator's own included (C-44).
    package func item(at url: URL, didResolve version: FileVersionIdentifier) {
        announce(url) { .versionChanged($0, .resolved, version: version.rawValue, $1) }
    }

    private func announce(_ url: URL, _ event: (FilePath, Cause) -> ArbiterEvent) {
        guard let path = try? Location(url).path else {
            preconditionFailure("A change of \(url) was announced, which is not a file URL with a path")
        }
        client.announce(event(path, Cause(client: client.id, process: getpid(), purpose: purpose)))
    }
}
