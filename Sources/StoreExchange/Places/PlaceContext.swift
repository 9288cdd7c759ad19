internal import Foundation
package import StoreFormat
internal import Synchronization
package import SystemPackage
internal import UbiquityContainers

/// The public place that a store reads, by way of a mirror: a directory of this device with the files that have been
/// fetched and not taken in yet.
package final class PlaceContext: Sendable {
    /// A file that is to be fetched.
    package struct Need: Hashable, Sendable {
        package var path: PublishedPath
        package var file: PublishedFile
    }

    package let mirror: PlaceFiles
    private let state = Mutex(State())

    private struct State {
        var needs: [Need] = []
        var fault: String?
        var isRead = false
    }

    package init(mirror: FilePath) { self.mirror = PlaceFiles(mirror) }

    /// The files without which the store cannot go on.
    package var needs: [Need] { state.withLock { $0.needs } }

    /// Why the place cannot be read; nil if it can.
    package var fault: String? { state.withLock { $0.fault } }

    /// Whether the mirror's head has been taken in whole, as far as this process knows.
    var isRead: Bool { state.withLock { $0.isRead } }

    func set(needs: [Need], fault: String?, isRead: Bool) {
        state.withLock { $0 = State(needs: needs, fault: fault, isRead: isRead) }
    }
}
