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
    func signPolicy(_ content: inout KnownContent, _ change: (inout Policy) -> Void) throws -> Int64? {
        try keeper.refresh(&content)
        let authority = content.authority!
        guard let key = try scope.keys.deviceKey, let current = authority.policy?.value, key.publicKey == current.steward else {
            throw UbiquitousStoreError(
                .unsupported,
                "This device is not the steward of the container \(scope.container), whose key signs its policies; use the steward's device."
            )
        }
        guard var draft = authority.nextPolicy(change) else { return nil }
        if draft.needsBase { draft.policy.base = try writeBase(of: .roles, authority, &content) }
        let signed = draft.policy.draft(by: key.publicKey)
        try publish(signed.signed(with: key, in: scope.container), base: draft.policy.base, authority, &content)
        return draft.policy.version
    }

    /// Signs a statement of the account without some devices.
    func removeDevices(_ removed: Set<PeerIdentifier>, _ content: inout KnownContent) throws {
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
        let base = try writeBase(of: .slice(account), authority, &content)
        statement.base = base
        try publish(statement.signed(with: key, in: scope.container), base: base, authority, &content)
    }

    /// Writes a baseline of what the store holds of a domain.
    private func writeBase(of domain: Domain, _ authority: Authority, _ content: inout KnownContent) throws -> BaselineID {
        let rows = DomainRows(domain, context.file.shapes)
        let exchange = ExchangeScope(context, content.state).baselines
        let base = try exchange.roll(&content.inventory) { writer in
            writer.domain = rows
            writer.holds = { peer in
                guard let account = AccountIdentifier(peer.account) else { return false }
                return switch domain {
                case .roles: authority.policy?.value.pins[account] != nil
                case .slice(let owner): owner == account
                }
            }
        }
        guard let base else { throw UbiquitousStoreError(.timedOut, "Saves came in faster than they were published; try again.") }
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
