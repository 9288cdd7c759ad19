import FileCoordination
import Foundation
import Synchronization

/// The adapters of this process, one for each presenter of Cocoa's kind that has been added or given to a coordinator.
///
/// A presenter keeps its adapter as long as it lives, because coordinators made for one presenter never wait for each other. Entries of
/// released presenters end when another presenter comes.
enum PresenterAdapters {
    private static let adapters = Mutex<[ObjectIdentifier: PresenterAdapter]>([:])

    /// The adapter of a presenter.
    static func adapter(of presenter: any NSFilePresenter) -> PresenterAdapter {
        let key = ObjectIdentifier(presenter)
        // Presenters are looked at outside the lock: the release of the last reference runs a `deinit` that may call back here.
        let former = adapters.withLock { $0[key] }
        if let former, former.client === presenter { return former }
        removeReleased()
        let new = PresenterAdapter(presenter)
        let adapter = adapters.withLock { adapters in
            // Another thread may have made one for this presenter. A presenter that lives shares its key with no other one that lives.
            if let other = adapters[key], other !== former { return other }
            adapters[key] = new
            return new
        }
        return adapter
    }

    /// The adapter of a presenter, also during its `deinit`, when weak references to it are already nil.
    static func known(of presenter: any NSFilePresenter) -> PresenterAdapter? {
        let adapter = adapters.withLock { $0[ObjectIdentifier(presenter)] }
        guard let adapter else { return nil }
        let client = adapter.client
        if client === presenter { return adapter }
        guard client == nil else { return nil }
        remove([adapter])
        return adapter
    }

    /// The number of entries.
    static var count: Int { adapters.withLock { $0.count } }

    /// Unregisters the adapters of presenters that are gone.
    static func removeReleased() {
        let released = adapters.withLock { Array($0.values) }.filter { $0.client == nil }
        guard !released.isEmpty else { return }
        remove(released)
        for adapter in released { FileCoordinator.removeFilePresenter(adapter) }
    }

    private static func remove(_ released: [PresenterAdapter]) {
        adapters.withLock { adapters in
            for adapter in released where adapters[adapter.key] === adapter { adapters[adapter.key] = nil }
        }
    }
}
