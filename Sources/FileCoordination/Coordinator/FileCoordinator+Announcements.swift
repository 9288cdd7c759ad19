public import Foundation
import Glibc
import SystemPackage

extension FileCoordinator {
    /// Tells the presenters of an item about changed ubiquity attributes; each presenter hears only of attributes that
    /// it observes.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - attributes: the changed attributes.
    public func item(at url: URL, didChangeUbiquityAttributes attributes: Set<UbiquityAttribute>) {
        announce(url) { .attributesChanged($0, Set(attributes.map(\.rawValue)), $1) }
    }

    /// Tells presenters about a new version of an item, including this coordinator's own presenter.
    package func item(at url: URL, didGain version: FileVersionIdentifier) {
        announce(url) { .versionChanged($0, .gained, version: version.rawValue, $1) }
    }

    /// Tells presenters about the removal of a version, including this coordinator's own presenter.
    package func item(at url: URL, didLose version: FileVersionIdentifier) {
        announce(url) { .versionChanged($0, .lost, version: version.rawValue, $1) }
    }

    /// Tells presenters that a version is no longer in conflict, including this coordinator's own presenter.
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
