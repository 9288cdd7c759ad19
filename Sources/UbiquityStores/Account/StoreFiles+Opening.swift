internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

extension StoreFiles {
    /// Opens the file with which a store begins.
    ///
    /// If earlier saves are still moving from one file to another, the store begins with the first file, and continues.
    func begin() async throws -> (StoreBase, StoreLife) {
        let account = try home.account
        // While nobody is signed in, the local file is used in any case.
        let local = account == nil ? try await open(.local) : try await openUnlessSettled(.local)
        if let local {
            do {
                try await finishGiven(in: local, but: account)
            } catch  where account != nil {
                // The saves stay where they are: the signed-in account works without them.
                context.logger.error(
                    "\(local.file.path): \(error)",
                    metadata: .facts([.event: "joinFailed", .file: local.file.path.string, .error: "\(error)"]))
            }
        }
        guard let account else { return (local!, StoreLife(account: nil, gathered: [])) }
        var own = try await exists(.account(account)) ? openUnlessDamaged(account) : nil
        // The file is moved aside later, when the content is known to hold everything that it does.
        if context.options.rebuildsFromUbiquitousContent, let base = own, try !former(of: account).exists,
            try await former(of: account).canBeReplaced(base)
        {
            own = nil
        }
        var gathered: Set<AccountName> = []
        if let own, try await Self.isGathered(own), try !former(of: account).exists { gathered = [account] }
        var isSeparate = false
        if case .keepSeparate = context.options.joiningPolicy { isSeparate = true }
        if let local, !isSeparate, try await StoreJoin.isNeeded(from: local), try await StoreJoin.isFree(local, for: account) {
            return (local, StoreLife(at: .local, account: account, gathered: gathered))
        }
        guard let own, !gathered.isEmpty else { return (try await open(.fallback(account)), StoreLife(account: account, gathered: [])) }
        // It is looked at last: until the account's file counts as gathered, another process may save to it.
        if let fallback = try await openUnlessSettled(.fallback(account)), try await StoreJoin.isNeeded(from: fallback) {
            return (fallback, StoreLife(at: .fallback(account), account: account, gathered: gathered))
        }
        return (own, StoreLife(account: account, gathered: gathered))
    }

    /// Opens an account's file; an unreadable file is moved aside for a new one.
    func openUnlessDamaged(_ account: AccountName) async throws -> StoreBase? {
        do {
            return try await open(.account(account))
        } catch let error as UbiquitousStoreError where error.code == .notADatabase {
            guard let file = error.path else { throw error }
            let aside = try await setDamagedAside(file.removingLastComponent()).appending(file.lastComponent!)
            context.logger.error(
                "\(file): it cannot be read, and is now at \(aside); a new one is made from the container",
                metadata: .facts([.event: "setAside", .account: account.description, .file: file.string, .path: aside.string]))
            context.notices.post(.didSetAside(aside))
            return nil
        }
    }

    /// Finishes the join of a local file that was given to another account.
    func finishGiven(in local: StoreBase, but account: AccountName?) async throws {
        guard let peer = try await local.pool.read({ db in try StoreJoin.given(db) }), peer.account != account?.description else { return }
        let owner = try AccountName(peer.account)
        let destination = try await open(isGathered(owner) ? .account(owner) : .fallback(owner))
        let join = StoreJoin(source: local, destination: destination, conflictRetention: context.options.advanced.conflictRetention)
        try await blocking { try join.finish() }
    }

    /// Joins the saves that an earlier use of an account's fallback file has left.
    func absorbFallback(of account: AccountName, into base: StoreBase) async throws {
        guard let fallback = try await openUnlessSettled(.fallback(account)), try await StoreJoin.isNeeded(from: fallback) else { return }
        let join = StoreJoin(source: fallback, destination: base, conflictRetention: context.options.advanced.conflictRetention)
        try await blocking { try join.finish() }
    }
}
