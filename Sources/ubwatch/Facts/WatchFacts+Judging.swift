import Foundation
internal import StoreInspection
import UbiquityContainers
import UbiquityStores

extension WatchFacts {
    /// The facts with ``state`` and ``reasons`` derived from the rest.
    var judged: WatchFacts {
        var facts = self
        let moving = [outgoing, incoming].compactMap { $0 }
        let findings = [signing, setUp, suspension, stop, network(isMoving: !moving.isEmpty)].compactMap { $0 } + moving
        facts.state = findings.first?.state ?? .idle
        facts.reasons = obstacles + findings.flatMap(\.reasons)
        facts.remedies = facts.commands
        return facts
    }

    private typealias Finding = (state: AccountState, reasons: [String])

    /// The obstacles to any exchange.
    private var obstacles: [String] {
        var reasons: [String] = []
        switch presence {
        case .there: break
        case .gone: reasons.append("the container is gone: \(path)")
        case .replaced: reasons.append("the container is another directory than before: \(path)")
        case .unmarked: reasons.append("this device's attachment mark is gone from the container: it has been wiped, or has not arrived completely")
        }
        if presence == .there, let detached = device.detached { reasons.append(detached) }
        if let failure = device.failure { reasons.append(failure) }
        for store in stores { reasons += ([store.fault] + store.peers.map(\.fault)).compactMap { $0 } }
        for store in localStores {
            if store.isGone { reasons.append("the store \(store.path) is gone from this device") }
            if let failure = store.failure { reasons.append("the store \(store.path): \(failure)") }
            for file in store.files where file.isInUse {
                if let suspended = file.suspended { reasons.append("the store \(store.content) (\(store.path)): \(suspended)") }
                if let request = file.summary.request { reasons.append("the store \(store.content) is to \(request) with the app's next exchange") }
            }
        }
        // These are the failures that no reason above has reported.
        for failure in troubles.failures
        where !reasons.contains(failure.text) && !localStores.contains(where: { $0.path == failure.path && ($0.isGone || $0.failure != nil) }) {
            reasons.append(failure.text)
        }
        return reasons
    }

    private var signing: Finding? {
        guard device.signedIn != account else { return nil }
        let who = device.signedIn.map { "\($0) is signed in on this device, not \(account)" } ?? "nobody is signed in on this device"
        return (.signedOut, [who])
    }

    private var setUp: Finding? {
        guard device.signedIn == account else { return nil }
        var reasons: [String] = []
        if presence == .there, !device.wasAttached { reasons.append("this device has not attached to the container yet") }
        for store in localStores {
            if store.usesLocalStorage {
                reasons.append("the store \(store.content) (\(store.path)) uses local storage until the account's content has been read")
            }
            for file in store.files where file.isInUse && file.summary.place == "account" && !file.summary.isAttached {
                reasons.append("the store \(store.content) (\(store.path)) has not attached to the container yet")
            }
        }
        return reasons.isEmpty ? nil : (.settingUp, reasons)
    }

    /// The loss of the container or a content, or a pause; the obstacles tell the reasons.
    private var suspension: Finding? {
        guard device.signedIn == account, device.wasAttached else { return nil }
        let isSuspended = presence != .there || device.detached != nil || exchanging.contains { $0.file.suspended != nil }
        return isSuspended ? (.suspended, []) : nil
    }

    /// What does not come by itself.
    private var stop: Finding? {
        var reasons: [String] = []
        for (store, file) in exchanging {
            for waiting in file.exchange?.waiting ?? [] where waiting.isUnusable {
                reasons.append("the store \(store.content) is stuck at \(waiting.subject): \(waiting.reason)")
            }
        }
        return reasons.isEmpty ? nil : (.stuck, reasons)
    }

    /// A transport that carries nothing now.
    private func network(isMoving: Bool) -> Finding? {
        guard device.signedIn == account, let transport, let obstacle = transport.obstacle else { return nil }
        let since = transport.since.map { " (since \($0.formatted(.iso8601)))" } ?? ""
        return transport.failure != nil || isMoving ? (.waitingForNetwork, [obstacle + since]) : nil
    }

    /// The account's files of this device's stores.
    private var exchanging: [(store: LocalStore, file: LocalStore.File)] {
        localStores.flatMap { store in store.files.filter { $0.isInUse && $0.summary.place == "account" }.map { (store, $0) } }
    }

    private var outgoing: Finding? {
        var reasons: [String] = []
        for (store, file) in exchanging {
            if file.summary.unpublished > 0 {
                reasons.append("to go out: \(Self.amount(file.summary.unpublished, "log")) of the store \(store.content)")
            }
            if let delivery = file.delivery, delivery.waitingLogs > 0, delivery.isCertain || delivery.obstacle != nil {
                var waiting = delivery
                waiting.unpublished = 0
                reasons.append("\(waiting.text ?? ""), of the store \(store.content)")
            }
            if file.summary.isNoted { reasons.append("the store \(store.content) has saves that are in no log yet: does the app run?") }
        }
        let waiting = [ItemStatus.uploading, .waitingToUpload].reduce(0) { $0 + (items.byStatus[$1.rawValue] ?? 0) }
        if waiting > 0 { reasons.append("to go out: \(Self.amount(waiting, "item"))") }
        return reasons.isEmpty ? nil : (.uploading, reasons)
    }

    private var incoming: Finding? {
        var reasons: [String] = []
        for store in stores {
            for peer in store.peers where peer.late > 0 {
                reasons.append("not arrived: \(Self.amount(Int(peer.late), "log")) of \(peer.peer) in the store \(store.name)")
            }
            // If no store of this device is known, the receipt in the container tells what it has read.
            guard let own = store.peers.first(where: { $0.peer == device.peer }),
                !exchanging.contains(where: { $0.file.summary.content == store.name })
            else { continue }
            for lag in own.knowledge where lag.behind > 0 {
                reasons.append("not read: \(Self.amount(Int(lag.behind), "log")) of \(lag.peer) in the store \(store.name)")
            }
        }
        for (store, file) in exchanging {
            for waiting in file.exchange?.waiting ?? [] {
                reasons.append("not read: \(waiting.subject), in the store \(store.content): \(waiting.reason)")
            }
            guard let exchange = file.exchange else { continue }
            for awaited in exchange.awaited.prefix(5) { reasons.append("the store \(store.content) waits for \(awaited)") }
            if exchange.awaitedCount > 5 { reasons.append("the store \(store.content) waits for \(exchange.awaitedCount - 5) files more") }
            if exchange.unjoinedBaselines > 0 { reasons.append("a baseline holds what the store \(store.content) does not") }
        }
        let missing = [ItemStatus.notDownloaded, .downloading, .downloaded].reduce(0) { $0 + (items.byStatus[$1.rawValue] ?? 0) }
        if missing > 0 { reasons.append("not here in the newest version: \(Self.amount(missing, "item"))") }
        return reasons.isEmpty ? nil : (.downloading, reasons)
    }

    static func amount(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
}
