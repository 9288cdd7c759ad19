import ArgumentParser
internal import StoreInspection
import UbiquityStores

/// The goal of `ubwatch wait`.
enum WaitGoal: String, Sendable, Codable, CaseIterable, ExpressibleByArgument {
    /// The stores of this device hold every log that any log, receipt or baseline in the container names, and have
    /// nothing to publish.
    case current
    /// The stores of this device hold everything that is in the container now.
    case imported
    /// Nothing has changed in the container for a while.
    case quiet
}

/// The verdict on a goal after an inspection of a container.
enum WaitVerdict: Sendable, Equatable {
    /// The goal is reached.
    case reached
    /// The goal is not reached yet; the reasons, one sentence each.
    case awaiting([String])
    /// The container is gone; the reason in words.
    case gone(String)
    /// The goal cannot be reached: no store is known here.
    case hopeless(String)
}

extension WatchFacts {
    /// Returns whether a goal of stores is reached.
    ///
    /// - Parameter goal: ``WaitGoal/current`` or ``WaitGoal/imported``.
    /// - Returns: the verdict.
    func verdict(on goal: WaitGoal) -> WaitVerdict {
        guard presence != .gone else { return .gone("The container is gone: \(path)") }
        // A missing store that only the device home knows does not block the goal; a missing store of --store may still
        // be created.
        let stores = localStores.filter { !$0.isGone || $0.isNamed }
        guard !stores.isEmpty else {
            return .hopeless("No store of this device is known in \(path): name one with --store, or open its app once.")
        }
        var reasons: [String] = []
        for store in stores { reasons += obstacles(to: goal, of: store) }
        if presence != .there, reasons.isEmpty { reasons = [self.reasons.first ?? "the container is not whole"] }
        return reasons.isEmpty ? .reached : .awaiting(reasons)
    }

    private func obstacles(to goal: WaitGoal, of store: LocalStore) -> [String] {
        if store.isGone { return ["there is no store at \(store.path) yet"] }
        let name = "the store \(store.content) (\(store.path))"
        if let failure = store.failure { return ["\(name) cannot be read: \(failure)"] }
        if store.usesLocalStorage { return ["\(name) uses local storage until the account's content has been read"] }
        let files = store.files.filter { $0.isInUse && $0.summary.place == "account" }
        guard !files.isEmpty else { return ["\(name) has no file of \(account) in use"] }
        var reasons: [String] = []
        for file in files {
            guard let exchange = file.exchange else {
                reasons.append("\(name) cannot be compared with the container")
                continue
            }
            if let hindrance = exchange.hindrance { reasons.append("\(name): \(hindrance)") }
            for waiting in exchange.waiting {
                reasons.append("not read: \(waiting.subject), in \(name): \(waiting.reason)")
            }
            if exchange.unjoinedBaselines > 0 {
                reasons.append("not read: \(Self.amount(exchange.unjoinedBaselines, "baseline")), which hold what \(name) does not")
            }
            guard goal == .current else { continue }
            for awaited in exchange.awaited { reasons.append("\(name) waits for \(awaited)") }
            if exchange.awaitedCount > exchange.awaited.count {
                reasons.append("\(name) waits for \(exchange.awaitedCount - exchange.awaited.count) files more")
            }
            if exchange.unpublished > 0 { reasons.append("to go out: \(Self.amount(exchange.unpublished, "log")) of \(name)") }
            if exchange.isNoted { reasons.append("\(name) has saves that are in no log yet: does the app run?") }
        }
        return reasons
    }
}
