import StoreAuthority
import StoreFormat
import UbiquityContainers

/// What logs mean under an authority, which the world can tell because it keeps all of them.
extension SignedWorld {
    /// The rights of a log: those that it claims, or without the rule, those under the policy in effect.
    func rights(of log: SimulatedLog, for authority: Authority) -> LogRights {
        var rights = log.rights
        if without == .rolesAsNamed, !isStrict, let policy = authority.policy { rights.policy = policy.id }
        return rights
    }

    /// Returns the changes of a log that count where no base holds it, as bits.
    func allowedChanges(of log: SimulatedLog, _ verdict: Verdict, _ authority: Authority) -> UInt64 {
        guard case .counts(let grant) = verdict else { return 0 }
        var allowed: UInt64 = 0
        for (index, change) in log.changes.enumerated() {
            let refusal = grant.refusal(of: change.key.table.rawValue, owner: change.key.owner.map(account))
            if refusal == nil || isMistaken(refusal!, log, change, authority) { allowed |= 1 << UInt64(index) }
        }
        return allowed
    }

    /// Whether a change would count without the rule that the run is without.
    private func isMistaken(_ refusal: Rejection, _ log: SimulatedLog, _ change: SimulatedChange, _ authority: Authority) -> Bool {
        guard let without, !isStrict, refusal == .cut || refusal == .removed, let policy = authority.policy?.value else { return false }
        if let role = change.key.table.role, policies[log.rights.policy]?.value.roles[role]?.contains(account(log.device.account)) != true {
            return false
        }
        let domain: SimulatedDomain = refusal == .cut ? .roles : .slice(log.device.account)
        switch without {
        case .cut: return true
        case .unknownDevices:
            let base = authority.base(of: self.domain(domain)).flatMap { baselines[$0] }
            return base.map { base in !base.logs.contains { logs[$0]!.device.key == log.device.key } } ?? false
        case .deviceKeys:
            let statement = refusal == .cut ? policy.pins[account(log.device.account)] : authority.statement(of: account(log.device.account))?.id
            let key = statement.flatMap { accountStatements[$0]?.value.devices[log.device.peer] }
            guard let key else { return false }
            return refusal == .removed || policy.cuts.allSatisfy { $0.account != account(log.device.account) || $0.sparing.contains(key) }
        default: return false
        }
    }

    /// Returns the changes of logs that count in a domain, by the number of the log.
    ///
    /// - Parameters:
    ///   - held: the logs.
    ///   - domain: the domain.
    ///   - authority: the reader's authority.
    ///   - known: the changes that count in the baselines that the reader has joined. Where a baseline holds a log, the
    ///     statement that the log names need not be here.
    /// - Returns: the changes of each log, as bits.
    func effects(of held: LogSet, in domain: SimulatedDomain, _ authority: Authority, known: [Int: UInt64] = [:]) -> [Int: UInt64] {
        let base = authority.base(of: self.domain(domain)).flatMap { baselines[$0] }
        var effects: [Int: UInt64] = [:]
        for number in held {
            let allowed: UInt64
            if let base, base.logs.contains(number) {
                allowed = base.effects[number] ?? 0
            } else {
                allowed = verdictEffects(of: logs[number]!, authority) ?? known[number] ?? 0
            }
            let own = allowed & mask(of: logs[number]!, in: domain)
            if own != 0 { effects[number] = own }
        }
        return effects
    }

    /// Returns nil for a log that waits.
    private func verdictEffects(of log: SimulatedLog, _ authority: Authority) -> UInt64? {
        let verdict = authority.verdict(on: rights(of: log, for: authority), by: log.device.peer, sequence: 1, isCurated: false)
        if case .waits = verdict { return nil }
        guard authority.author(log.device.peer, certificate: log.rights.certificate)?.key == log.signer else { return 0 }
        return allowedChanges(of: log, verdict, authority)
    }

    private func mask(of log: SimulatedLog, in domain: SimulatedDomain) -> UInt64 {
        log.changes.enumerated().reduce(0) { bits, entry in
            let isOwn = entry.element.key.owner.map { .slice($0) == domain && $0 == log.device.account } ?? (domain == .roles)
            return isOwn ? bits | 1 << UInt64(entry.offset) : bits
        }
    }

    func registers(of effects: [Int: UInt64]) -> Registers {
        var registers = Registers()
        for (number, allowed) in effects {
            let log = logs[number]!
            for (index, change) in log.changes.enumerated() where allowed & 1 << UInt64(index) != 0 { registers.join(change, of: log) }
        }
        return registers
    }

    /// Returns what all logs come to that were ever written, under all rules: nothing lost, nothing that was not permitted.
    func meaningOfAll(_ authority: Authority) -> Shown {
        isStrict = true
        defer { isStrict = false }
        var waiting: Set<Int> = []
        for number in logs.keys.sorted() {
            let log = logs[number]!
            let verdict = authority.verdict(on: log.rights, by: log.device.peer, sequence: 1, isCurated: log.isCurated)
            let isForged = authority.author(log.device.peer, certificate: log.rights.certificate)?.key != log.signer
            if case .waits = verdict { waiting.insert(number) }
            if isForged || log.previous.map({ waiting.contains($0.number) }) ?? false { waiting.insert(number) }
        }
        var (roles, slices): (LogSet, [Int: LogSet]) = (LogSet(), [:])
        for (number, log) in logs {
            roles.insert(number)
            slices[log.device.account, default: LogSet()].insert(number)
        }
        func meaning(_ held: LogSet, _ domain: SimulatedDomain) -> Registers {
            let base = authority.base(of: self.domain(domain)).flatMap { baselines[$0] }
            return registers(of: effects(of: held, in: domain, authority).filter { !waiting.contains($0.key) || base?.logs.contains($0.key) == true })
        }
        var shown: [Int: Registers] = [:]
        for (account, held) in slices { shown[account] = meaning(held, .slice(account)) }
        return Shown(roles: meaning(roles, .roles), slices: shown)
    }
}
