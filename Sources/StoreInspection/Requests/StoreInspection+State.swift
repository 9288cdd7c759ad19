internal import Foundation
internal import GRDB
internal import StoreExchange
internal import StoreFormat
package import StoreRecords
internal import SystemPackage
package import UbiquityContainers

/// How a store file stands, for tools: what its own tables say.
package struct StoreSummary: Sendable, Codable, Equatable {
    /// The SQLite file.
    package var file: String
    /// What it is for: `account`, `local` or `fallback`; with `former` or `damaged` before it where it was put out of the way.
    package var place: String
    /// Whose it is; empty of a local one.
    package var account: String
    package var container: String
    package var content: String
    package var peer: String
    package var epoch: Int64
    /// In bytes, of the SQLite file alone.
    package var bytes: Int64
    /// How many rows its synced tables have.
    package var records: Int
    /// How many logs wait to go out.
    package var unpublished: Int
    /// Whether something was written that is in no log yet.
    package var isNoted: Bool
    /// Whether its account's content has been read once as far as it was known.
    package var isGathered: Bool
    package var isPaused: Bool
    /// Whether it has its place in the container; from then on a missing one is never made again.
    package var isAttached: Bool
    /// What is to be done with the app's next exchange; nil for nothing.
    package var request: String?
    package var quarantined: Int
    package var held: Int
    package var conflicts: Int
}

extension StoreSummary {
    /// Whether something was written that is in no log yet.
    static func isNoted(_ db: Database) throws -> Bool {
        try Int64.fetchAll(db, sql: "SELECT number FROM ubiquity_table").contains { number in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_capture_\(number))")!
        }
    }
}

extension StoreInspection {
    /// How the file stands.
    ///
    /// - Returns: what it says of itself.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    package func summary() throws -> StoreSummary {
        try read { db in
            let state = try StoreState.read(db)
            func count(_ table: String) throws -> Int { try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)")! }
            let tables = try Row.fetchAll(db, sql: "SELECT number, name FROM ubiquity_table ORDER BY number")
            let records = try tables.reduce(0) { sum, table in
                let name = table["name"] as String
                return try sum + (db.tableExists(name) ? count(name.quotedIdentifier) : 0)
            }
            let held = try tables.reduce(0) { sum, table in
                let aside = "ubiquity_aside_\(table["number"] as Int64)"
                return try sum + (db.tableExists(aside) ? count("\(aside) WHERE held > ''") : 0)
            }
            let directory = file.removingLastComponent().lastComponent?.string ?? ""
            let aside = directory == "former" ? "former " : directory.hasPrefix("damaged") ? "damaged " : ""
            return StoreSummary(
                file: file.string, place: aside + (state.place == .store ? "account" : state.place.rawValue), account: state.account,
                container: state.container, content: state.content, peer: state.peer.description, epoch: state.epoch,
                bytes: (try? LinuxFileLayer().size(of: file)) ?? 0, records: records, unpublished: try count("ubiquity_outbox"),
                isNoted: try StoreSummary.isNoted(db),
                isGathered: try Bool.fetchOne(db, sql: "SELECT gathered FROM ubiquity_state")!, isPaused: state.paused,
                isAttached: state.attached, request: state.request?.rawValue, quarantined: try count("ubiquity_quarantine"), held: held,
                conflicts: try count("ubiquity_conflict"))
        }
    }

    /// Lets nothing go out or in, or everything again; the app that has the store open notices by itself.
    ///
    /// - Parameter isPaused: whether nothing is to go out or in.
    /// - Returns: whether that is another state than before.
    /// - Throws: `UbiquitousStoreError` with `unsupported` of a file that exchanges nothing.
    package func setPaused(_ isPaused: Bool) throws -> Bool {
        try write { db in
            guard try exchanging(db).paused != isPaused else { return false }
            try db.execute(sql: "UPDATE ubiquity_state SET paused = ?", arguments: [isPaused])
            return true
        }
    }

    /// Asks the app for something, which it does with its next exchange; what had been asked for before is no longer.
    ///
    /// - Parameter request: what is asked for.
    /// - Throws: `UbiquitousStoreError` with `unsupported` of a file that exchanges nothing, or whose content is just being put back.
    package func ask(for request: StoreRequest) throws {
        try write { db in
            try checkAskable(db)
            try db.execute(sql: "UPDATE ubiquity_state SET request = ?", arguments: [request.rawValue])
        }
    }

    /// Whether the app can be asked for something.
    ///
    /// - Throws: what ``ask(for:)`` does.
    package func checkAskable() throws { try read { db in try checkAskable(db) } }

    private func checkAskable(_ db: Database) throws {
        guard try exchanging(db).request != .finishRepublishing else {
            throw UbiquitousStoreError(
                .unsupported,
                "What was gone from the container is being put back from \(file), and not all of it is there: let the app exchange first, with room on the container's disk; `ubcontrol store state` says when that is done.",
                path: file)
        }
    }

    /// Withdraws what has been asked for and has not been done; another request stands.
    ///
    /// - Parameter request: what had been asked for.
    /// - Returns: whether it was still to be done. What the app has begun, it may do all the same.
    /// - Throws: `UbiquitousStoreError` with `unsupported` of a file that exchanges nothing.
    package func withdraw(_ request: StoreRequest) throws -> Bool {
        try write { db in
            _ = try exchanging(db)
            return try request.drop(db)
        }
    }

    /// The state of a file that exchanges with a container.
    private func exchanging(_ db: Database) throws -> StoreState {
        let state = try StoreState.read(db)
        guard state.place == .store, file.removingLastComponent().lastComponent?.string == "store" else {
            throw UbiquitousStoreError(
                .unsupported, "\(file) is no file of an account that is in use, so that nothing goes out or in; see `ubcontrol store list`.",
                path: file)
        }
        return state
    }

    /// Removes the content on all devices of the account: writes the mark of the next epoch, which decides.
    ///
    /// The app, here and elsewhere, sets aside what had not been sent and empties its store as soon as it sees the mark. What is written to this store meanwhile had not been sent.
    ///
    /// - Parameter container: the container of the content.
    /// - Returns: the epoch that has begun.
    /// - Throws: `UbiquitousStoreError`: `suspended` where the store has no place in the container, `paused`, `timedOut` or `fileSystem`; nothing is removed then.
    package func removeContent(in container: UbiquityContainer) throws -> Int64 {
        let lock = ExchangeLease.lock(of: file)
        guard let lease = try ExchangeLease.take(file, within: .seconds(60), unless: { Task.isCancelled }) else {
            throw UbiquitousStoreError(
                .timedOut, "A process\(StoreLock.holder(of: lock)) has been exchanging for \(file) for a minute; see whether it is stopped.",
                path: lock)
        }
        defer { withExtendedLifetime(lease) {} }
        let (mark, state) = try nextMark(in: container)
        let layout = ContentLayout(container: container.path, content: state.content)
        try PeerPlace(layout: layout, container: container, files: container.files).write(mark, of: state.peer, placedIn: state.epoch)
        return mark.epoch
    }

    /// Whether the content can be removed.
    ///
    /// - Parameter container: the container of the content.
    /// - Returns: the epoch that would begin.
    /// - Throws: what ``removeContent(in:)`` does before it writes.
    package func checkRemovable(in container: UbiquityContainer) throws -> Int64 { try nextMark(in: container).mark.epoch }

    /// Whether the file is one that exchanges with a container.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` where it is not.
    package func checkExchanging() throws { try read { db in _ = try exchanging(db) } }

    /// The mark by which the content goes.
    private func nextMark(in container: UbiquityContainer) throws -> (mark: EpochMark, state: StoreState) {
        let (state, knowledge) = try read { db in
            let state = try exchanging(db)
            return (state, try StoreKnowledge.all(state, db))
        }
        guard !state.paused else {
            throw UbiquitousStoreError(.paused, "\(file) is paused: resume it first, with: ubcontrol store resume \(file)", path: file)
        }
        let layout = ContentLayout(container: container.path, content: state.content)
        guard state.attached, container.attachment(of: state.peer) == .attached,
            (try? container.files.kind(of: layout.logs(of: state.peer, epoch: state.epoch))) == .directory
        else {
            throw UbiquitousStoreError(
                .suspended, "The store has no place in \(layout.directory), so that nothing is removed; see `ubcontrol container status`.",
                path: layout.directory)
        }
        let present = try EpochMarks(of: layout, files: container.files).present
        let next = max(state.epoch, present) + 1
        guard next <= ContentLayout.lastEpoch else {
            throw UbiquitousStoreError(.unsupported, "The content has a mark of the last epoch that can be: \(layout.epochs).", path: layout.epochs)
        }
        // Of an epoch that the app has not entered the store has taken in nothing.
        return (EpochMark(epoch: next, peer: state.peer, knowledge: present > state.epoch ? nil : knowledge, time: Date()), state)
    }
}
