internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Signs policies as the container's steward, and statements as this device's account.
///
/// A statement that takes something away names a base: a baseline of what remains of the domain. The order is: write the
/// base, durably; then write the statement. A crash in between leaves a baseline that no statement names, and nobody joins.
struct ScopeSteward {
    let keeper: ScopeKeeper

    private var context: ExchangeContext { keeper.context }
    private var scope: ScopeContext { keeper.scope }

    /// Signs the next policy, and returns its number; nil if nothing is to be decided.
    ///
    /// - Parameters:
    ///   - content: the known content.
    ///   - takingBack: the logs that the accounts which lose a role lose with it.
    ///   - change: alters the policy.
    /// - Returns: the number of the policy.
    /// - Throws: `UbiquitousStoreError`; `Errno`.
    func signPolicy(_ content: inout KnownContent, takingBack: TakingBack = .nothing, _ change: (inout Policy) -> Void) throws -> Int64? {
        try keeper.refresh(&content)
        let authority = content.authority!
        guard let key = try scope.keys.deviceKey, let current = authority.policy?.value, key.publicKey == current.steward else {
            throw UbiquitousStoreError(
                .unsupported,
                "This device is not the steward of the container \(scope.container), whose key signs its policies; use the steward's device."
            )
        }
        let next = authority.nextPolicy(change)
        let losers = next?.losers ?? []
        guard takingBack == .nothing || !losers.isEmpty else {
            throw UbiquitousStoreError(.unsupported, "Nobody loses a role, so nothing is taken back and nothing is signed.")
        }
        guard var draft = next else { return nil }
        try check(draft)
        func loses(_ peer: PeerIdentifier) -> Bool { AccountIdentifier(peer.account).map(losers.contains) ?? false }
        try check(takingBack, of: "an account that loses a role", content.state.peer, loses)
        if draft.needsBase {
            draft.policy.base = try writeBase(of: draft, authority, &content) { loses($0) && takingBack.takes($1, of: $0) }
        }
        let signed = draft.policy.draft(by: key.publicKey)
        try publish(signed.signed(with: key, in: scope.container), base: draft.policy.base, authority, &content)
        return draft.policy.version
    }

    /// Begins a term with this device as steward.
    ///
    /// - Parameters:
    ///   - policy: the last policy that counts; nil for the one in effect, or the branches of a fork.
    ///   - content: the known content.
    /// - Returns: the number of the term's first policy.
    /// - Throws: `UbiquitousStoreError` with `unsupported` or `notFound`; `Errno`.
    func begin(after policy: StatementIdentifier?, _ content: inout KnownContent) throws -> Int64 {
        try keeper.refresh(&content)
        let authority = content.authority!
        guard let current = authority.policy else {
            throw UbiquitousStoreError(.suspended, "The container \(scope.container) has no policy in effect yet; wait until it has arrived.")
        }
        guard let device = try scope.keys.deviceKey, let own = AccountIdentifier(content.state.peer.account) else {
            throw UbiquitousStoreError(
                .unsupported, "This device has no account in the container \(scope.container), as which it could sign; create one first.")
        }
        let isOwner = own == current.value.owner
        let (identity, heir) = (try scope.keys.identityKey, try scope.keys.home.key(.heir))
        guard let key = isOwner ? identity : heir, isOwner || current.value.heirs.contains(key.publicKey) else {
            throw UbiquitousStoreError(
                .unsupported,
                "This device has neither the identity key of the container's owner nor the key of an heir; use one that has, or copy identity.key or heir.key into its home"
            )
        }
        let last = policy.map { [$0] } ?? (authority.isForked ? authority.branches.map(\.id) : [current.id])
        let draft = authority.nextTerm(steward: (device.publicKey, content.state.peer), after: last) { next in
            guard !isOwner else { return }
            next.owner = own
            for role in next.roles.keys { next.roles[role]!.insert(own) }
        }
        guard var draft else {
            let names = last.map(\.description).joined(separator: ", ")
            throw UbiquitousStoreError(.notFound, "\(names) is no valid policy of the container that is here; `ubwatch policy` tells which are.")
        }
        // Who names the last policy that counts waits for no later one, which a thief may have signed.
        if policy == nil { draft.awaits.formUnion(authority.awaitedRolesBases) }
        try check(draft)
        draft.policy.base = try writeBase(of: draft, authority, &content) { _, _ in false }
        let signed = draft.policy.draft(by: key.publicKey)
        try publish(signed.signed(with: key, in: scope.container), base: draft.policy.base, authority, &content)
        return draft.policy.version
    }

    /// Returns whether this device is the steward and has to sign a policy without a decision: an account that holds a role
    /// has a new statement, by which its devices are known.
    func owesPolicy(_ content: KnownContent) throws -> Bool {
        guard let authority = content.authority, let key = try scope.keys.deviceKey?.publicKey, key == authority.policy?.value.steward else {
            return false
        }
        return authority.owesPolicy
    }

    /// Signs a statement of the account without some devices.
    ///
    /// - Parameters:
    ///   - removed: the devices; those that they have enrolled go with them.
    ///   - takingBack: the logs of all these devices that the account loses.
    ///   - content: the known content.
    /// - Throws: `UbiquitousStoreError`; `Errno`.
    func removeDevices(_ removed: Set<PeerIdentifier>, takingBack: TakingBack = .nothing, _ content: inout KnownContent) throws {
        try keeper.refresh(&content)
        let authority = content.authority!
        guard let account = AccountIdentifier(content.state.peer.account), let key = try scope.keys.identityKey,
            authority.statement(of: account)?.value.identity == key.publicKey
        else {
            throw UbiquitousStoreError(
                .unsupported,
                "This device does not have the key of the account, which alone removes devices; use the device that created the account, or copy its identity.key into this device home"
            )
        }
        guard !removed.contains(content.state.peer) else {
            throw UbiquitousStoreError(.unsupported, "A device does not remove itself; remove \(content.state.peer) on another one.")
        }
        let devices = authority.deviceKeys(of: account)
        if let unknown = removed.first(where: { devices[$0] == nil }) {
            throw UbiquitousStoreError(.notFound, "\(unknown) is no device of this account; `ubcontrol account devices` lists them.")
        }
        // A thief enrols devices of its own.
        let out = authority.withEnrolled(removed, of: account).subtracting([content.state.peer])
        guard var statement = authority.nextStatement(of: account, devices: devices.filter { !out.contains($0.key) }) else {
            throw UbiquitousStoreError(.suspended, "A newer statement of the account is here, and its base is not; wait until it has arrived.")
        }
        try check(takingBack, of: "a removed device", content.state.peer, out.contains)
        let writer = BaseWriter(keeper: keeper, authority: authority, domain: .slice(account))
        let base = try write(writer, &content) { out.contains($0) && takingBack.takes($1, of: $0) }
        statement.base = base
        try publish(statement.signed(with: key, in: scope.container), base: base, authority, &content)
    }

    /// Throws if the base of a policy is not here that a draft follows, or that would come into effect before it.
    private func check(_ draft: PolicyDraft) throws {
        guard let base = draft.awaits.min() else { return }
        throw UbiquitousStoreError(
            .suspended,
            "The baseline \(base.name) of \(base.peer), which another policy names, is not here yet. Wait until it has arrived, so that nothing which only it holds is lost; `ubcontrol public succeed --after` begins after an earlier policy.",
            path: context.layout.directory)
    }

    /// Throws if what is to be taken back names a device that is not removed, or the one that signs.
    private func check(_ takingBack: TakingBack, of whom: String, _ own: PeerIdentifier, _ isRemoved: (PeerIdentifier) -> Bool) throws {
        if case .after(let last) = takingBack, let other = last.keys.sorted().first(where: { !isRemoved($0) }) {
            throw UbiquitousStoreError(.notFound, "\(other) is no device of \(whom), so nothing of it is taken back.")
        }
        guard !isRemoved(own) || !takingBack.takes(.max, of: own) else {
            throw UbiquitousStoreError(.unsupported, "The device that signs, \(own), does not take back its own logs; change the records instead.")
        }
    }

    private func writeBase(
        of draft: PolicyDraft, _ authority: Authority, _ content: inout KnownContent, without isTakenBack: (PeerIdentifier, Int64) -> Bool
    ) throws -> BaselineID {
        var writer = BaseWriter(keeper: keeper, authority: authority, domain: .roles)
        (writer.follows, writer.baselines) = (draft.follows, draft.baselines)
        return try write(writer, &content, without: isTakenBack)
    }

    /// Writes a base, without the logs that are taken back.
    private func write(
        _ writer: BaseWriter, _ content: inout KnownContent, without isTakenBack: (PeerIdentifier, Int64) -> Bool
    ) throws -> BaselineID {
        guard let base = try writer.write(&content, without: isTakenBack) else {
            throw UbiquitousStoreError(.timedOut, "Saves came in faster than they were published; try again.")
        }
        // A statement whose base nobody can use would never be in effect, and neither would any statement after it.
        guard try keeper.header(of: base, content.state) != nil else {
            throw UbiquitousStoreError(
                .malformed, "The baseline \(base.name) that was written cannot be read back; see the list of unusable files. Nothing is signed.",
                path: context.layout.directory)
        }
        return base
    }

    /// Writes a statement that has an effect, and takes it in.
    private func publish(_ bytes: [UInt8], base: BaselineID?, _ authority: Authority, _ content: inout KnownContent) throws {
        var trial = authority
        let statement = try Statement(decoding: bytes, in: scope.container)
        _ = trial.insert([statement], baselines: base.map { [$0] } ?? [])
        guard case .accepted = trial.judgement(of: statement.id) else {
            throw UbiquitousStoreError(.unsupported, "The statement would have no effect (\(trial.judgement(of: statement.id))), and is not signed.")
        }
        Waypoint.statementSigned.pass()
        try scope.directory.write(bytes)
        Waypoint.statementWritten.pass()
        try keeper.refresh(&content)
    }
}
