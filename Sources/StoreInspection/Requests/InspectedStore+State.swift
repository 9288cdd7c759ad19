internal import Foundation
internal import GRDB
internal import StoreExchange
internal import StoreFormat
package import StoreRecords
internal import SystemPackage
package import UbiquityContainers

/// The state of a store file for tools, from its own tables.
package struct StoreSummary: Sendable, Codable, Equatable {
    /// The SQLite file.
    package var file: String
    /// The kind of the file: `account`, `local` or `fallback`; after `former` or `damaged` if it was moved aside.
    package var place: String
    /// The file's account; empty for a local one.
    package var account: String
    package var container: String
    package var content: String
    package var peer: String
    package var epoch: Int64
    /// The bytes of the SQLite file alone.
    package var bytes: Int64
    /// The number of rows in its synced tables.
    package var records: Int
    /// The number of logs that are not published yet.
    package var unpublished: Int
    /// Whether captured changes are not sealed yet.
    package var isNoted: Bool
    /// Whether the account's content has been read once, as far as it was known.
    package var isGathered: Bool
    package var isPaused: Bool
    /// Whether the file is attached to the container; a missing attachment mark is not created again.
    package var isAttached: Bool
    /// The request for the app's next exchange; nil for none.
    package var request: String?
    package var quarantined: Int
    package var held: Int
    package var conflicts: Int
    /// The app's tables that it declares neither as synced nor as local.
    package var undeclared: [String]
}

extension StoreSummary {
    /// Returns whether captured changes are not sealed yet.
    static func isNoted(_ db: Database) throws -> Bool {
        try Int64.fetchAll(db, sql: "SELECT number FROM ubiquity_table").contains { number in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_capture_\(number))")!
        }
    }
}

extension InspectedStore {
    /// Returns the state of the file.
    ///
    /// - Returns: the summary.
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
                conflicts: try count("ubiquity_conflict"), undeclared: try UndeclaredTables.all(db))
        }
    }

    /// Lets nothing go out or in, or everything again; the app that has the store open notices by itself.
    ///
    /// - Parameter isPaused: whether the exchange is paused.
    /// - Returns: whether the state has changed.
    /// - Throws: `UbiquitousStoreError` with `unsupported` for a file that does not exchange.
    package func setPaused(_ isPaused: Bool) throws -> Bool {
        try write { db in
            guard try exchanging(db).paused != isPaused else { return false }
            try db.execute(sql: "UPDATE ubiquity_state SET paused = ?", arguments: [isPaused])
            return true
        }
    }

    /// Stores a request for the app's next exchange, in place of an earlier request.
    ///
    /// - Parameter request: the request.
    /// - Throws: `UbiquitousStoreError` with `unsupported` for a file that does not exchange, or whose content is being
    ///   republished.
    package func ask(for request: StoreRequest) throws {
        try write { db in
            try checkAskable(db)
            try db.execute(sql: "UPDATE ubiquity_state SET request = ?", arguments: [request.rawValue])
        }
    }

    /// Checks whether the app can get a request.
    ///
    /// - Throws: the errors of ``ask(for:)``.
    package func checkAskable() throws { try read { db in try checkAskable(db) } }

    private func checkAskable(_ db: Database) throws {
        guard try exchanging(db).request != .finishRepublishing else {
            throw UbiquitousStoreError(
                .unsupported,
                "The content that was gone from the container is being put back from \(file), and is not complete yet: let the app exchange first, with free space on the container's disk; `ubcontrol store state` says when that is done.",
                path: file)
        }
    }

    /// Withdraws a request that has not been carried out; a different request stays.
    ///
    /// - Parameter request: the request.
    /// - Returns: whether it was still stored. The app may finish it if it has begun.
    /// - Throws: `UbiquitousStoreError` with `unsupported` for a file that does not exchange.
    package func withdraw(_ request: StoreRequest) throws -> Bool {
        try write { db in
            _ = try exchanging(db)
            return try request.drop(db)
        }
    }

    /// Returns the state of a file that exchanges with a container.
    private func exchanging(_ db: Database) throws -> StoreState {
        let state = try StoreState.read(db)
        guard state.place == .store, file.removingLastComponent().lastComponent?.string == "store" else {
            throw UbiquitousStoreError(
                .unsupported, "\(file) is no file of an account that is in use, so that nothing goes out or in; see `ubcontrol store list`.",
                path: file)
        }
        return state
    }

    /// Removes the content on all devices of the account, by writing the mark of the next epoch.
    ///
    /// The app, here and on other devices, keeps its unpublished saves aside and empties its store as soon as it sees
    /// the mark. Saves to this store until then count as unpublished.
    ///
    /// - Parameter container: the container of the content.
    /// - Returns: the epoch that has begun.
    /// - Throws: `UbiquitousStoreError`: `suspended` if the store has no place in the container, `paused`, `timedOut`
    ///   or `fileSystem`; nothing is removed then.
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

    /// Checks whether the content can be removed.
    ///
    /// - Parameter container: the container of the content.
    /// - Returns: the epoch that would begin.
    /// - Throws: the errors of ``removeContent(in:)`` before it writes.
    package func checkRemovable(in container: UbiquityContainer) throws -> Int64 { try nextMark(in: container).mark.epoch }

    /// Checks whether the file exchanges with a container.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` if it does not.
    package func checkExchanging() throws { try read { db in _ = try exchanging(db) } }

    /// Returns the mark that removes the content.
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
        // In an epoch that the app has not entered, the store has no knowledge.
        return (EpochMark(epoch: next, peer: state.peer, knowledge: present > state.epoch ? nil : knowledge, time: Date()), state)
    }
}
