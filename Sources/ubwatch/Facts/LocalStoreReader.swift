import StoreInspection
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Finds the stores of this device that belong to a container, and reads their state; it blocks.
struct LocalStoreReader {
    let container: FilePath
    let account: String
    let identifier: String
    let home: DeviceHome?

    /// Returns the stores.
    ///
    /// - Parameter named: store files, or paths that apps gave their stores, in addition to the stores that the device
    ///   home knows.
    /// - Returns: the stores by path; named ones come first.
    func stores(_ named: [FilePath]) -> [LocalStore] {
        let known = (home?.knownStores ?? []).filter { $0.container == identifier }
        var stores = named.map { store(at: PathFacts.absolute($0), content: nil) }
        for entry in known where !stores.contains(where: { $0.path == entry.path && $0.content == entry.content }) {
            let store = store(at: FilePath(entry.path), content: entry.content)
            // A store that only another account has used does not concern this account's container.
            if store.isGone || store.failure != nil || !store.files.isEmpty { stores.append(store) }
        }
        return stores
    }

    private func store(at path: FilePath, content: String?) -> LocalStore {
        var store = LocalStore(path: path.string, content: content ?? "", isNamed: content == nil)
        let files = InspectedStore.files(at: path)
        store.isGone = files.isEmpty
        let last = InspectedStore.lastPlace(of: path)
        if let last, last.account.isEmpty || last.account == account { store.usesLocalStorage = last.place != "account" }
        for file in files {
            do {
                var hindrance: String?
                let (summary, exchange) = try InspectedStore.look(at: file) { inspection -> (StoreSummary, ExchangeReport?) in
                    let summary = try inspection.summary()
                    hindrance = nil
                    let exchanges = isOurs(summary, content) && summary.place == "account" && DirectoryIdentity(of: container) != nil
                    do {
                        return (summary, exchanges ? try inspection.exchange(with: container) : nil)
                    } catch {
                        // A store reports its records even if its container cannot be read.
                        hindrance = error is Errno ? "\(container) cannot be read whole (\(error)); check owners and modes below it" : "\(error)"
                        return (summary, nil)
                    }
                }
                guard isOurs(summary, content) else { continue }
                if let hindrance { store.failure = hindrance }
                if store.content.isEmpty { store.content = summary.content }
                let isInUse =
                    last.map { $0.place == summary.place && $0.account == summary.account } ?? (summary.place == "account")
                var suspended = exchange?.hindrance
                if summary.isPaused { suspended = "paused: nothing goes out or in" }
                store.files.append(LocalStore.File(summary: summary, isInUse: isInUse, suspended: suspended, exchange: exchange))
            } catch {
                store.failure = "\(error)"
            }
        }
        store.files.sort { $0.isInUse && !$1.isInUse }
        return store
    }

    private func isOurs(_ summary: StoreSummary, _ content: String?) -> Bool {
        (content == nil || summary.content == content) && summary.container == identifier && (summary.account.isEmpty || summary.account == account)
    }
}
