import StoreAuthority
import StoreFormat
import UbiquityContainers

/// What honest devices do.
extension SignedWorld {
    /// Whether a reader's device may act for its account, as far as the reader knows.
    func isEnrolled(_ reader: SimulatedReader) -> Bool {
        guard let device = reader.device else { return false }
        return knows(reader, device)
    }

    /// Whether a device is one of its account's, as far as a reader knows.
    private func knows(_ reader: SimulatedReader, _ device: SimulatedDevice) -> Bool {
        reader.authority.devices(of: account(device.account)).contains { $0.peer == device.peer && $0.key == device.key }
    }

    /// A device names the newest statement that names it.
    private func renewCertificate(_ reader: SimulatedReader) {
        guard let device = reader.device, let statement = reader.authority.statement(of: account(device.account)) else { return }
        if statement.value.devices[device.peer] == device.key { device.certificate = statement.id }
    }

    func isIdle(_ reader: SimulatedReader) -> Bool {
        reader.device.map { evil.contains($0.number) || dead.contains($0.number) } ?? true
    }

    func write(_ reader: SimulatedReader) {
        guard !isIdle(reader), let device = reader.device, let policy = reader.authority.policy, isEnrolled(reader) else { return }
        renewCertificate(reader)
        let rights = LogRights(container: container, policy: policy.id, certificate: device.certificate)
        guard case .counts(let own) = reader.authority.verdict(on: rights, by: device.peer, sequence: 1, isCurated: false) else { return }
        // While the steward's policies contradict each other, nobody writes curated tables.
        let roles = reader.authority.isForked ? nil : own
        var changes: [SimulatedChange] = []
        for _ in 0..<number(1...2) {
            let (chance, key): (Double, SimulatedKey) = (Double.random(in: 0..<1, using: &random), anyKey(of: device.account))
            let change: SimulatedChange?
            if chance < 0.3, roles?.allows(SimulatedTable.template.rawValue, owner: nil) == true {
                change = self.change(.template(number(0...2)), reader.roles)
            } else if chance < 0.45, roles?.allows(SimulatedTable.moderation.rawValue, owner: nil) == true {
                change = self.change(key, reader.roles)
            } else {
                change = self.change(.record(account: device.account, number(0...2)), reader[.slice(device.account)])
            }
            guard let change else { break }
            if !changes.contains(where: { $0.key == change.key }) { changes.append(change) }
        }
        guard !changes.isEmpty else { return }
        let file = write(by: device, signer: device.key, after: device.last, naming: policy.id, changes)
        device.last = logs[file.number]
        reader.deliver(file)
        reader.settle()
        trace?("\(device.name) writes log \(file.number): \(changes.map { "\($0.key)" }.joined(separator: ", "))")
    }

    private func anyKey(of account: Int) -> SimulatedKey {
        let other = number(1...Self.attacker)
        return happens(0.5) ? .block(account: other) : .veto(account: other, number(0...2))
    }

    /// Returns a change of a record as a reader shows it; nil if no stamp is left.
    private func change(_ key: SimulatedKey, _ joined: JoinedDomain) -> SimulatedChange? {
        wall += Int64(number(0...3))
        let time = max(joined.clock + 1, wall)
        guard time <= Self.latest else {
            exhausted += 1
            return nil
        }
        let life = joined.registers[key]?.life ?? 0
        if life % 2 == 0 {
            return SimulatedChange(key: key, life: life + 1, columns: [.x: Cell(time: time, value: number(0...99)), .on: Cell(time: time, value: 1)])
        }
        if happens(key.owner == nil ? 0.08 : 0.3) { return SimulatedChange(key: key, life: life + 1, columns: [:]) }
        if key.table == .moderation { return SimulatedChange(key: key, life: life, columns: [.on: Cell(time: time, value: number(0...1))]) }
        let column = pick([SimulatedColumn.x, .y])
        return SimulatedChange(key: key, life: life, columns: [column: Cell(time: time, value: number(0...99))])
    }

    /// Makes the baselines that a device may make.
    func snapshot(_ reader: SimulatedReader) {
        guard !isIdle(reader), let device = reader.device, let policy = reader.authority.policy else { return }
        if device === steward {
            let made = baseline(
                by: device, .roles, reader.roles.logs, reader.roles.registers, clock: reader.roles.clock, effects: reader.effects(in: .roles))
            sign(warrant(of: made, .roles, policy.id, certificate: nil), by: device.key)
            heldByRoles.formUnion(made.logs)
        }
        guard isEnrolled(reader), let statement = reader.authority.statement(of: account(device.account)) else { return }
        renewCertificate(reader)
        let joined = reader[.slice(device.account)]
        let made = baseline(
            by: device, .slice(device.account), joined.logs, joined.registers, clock: joined.clock,
            effects: reader.effects(in: .slice(device.account)))
        sign(warrant(of: made, .slice(account(device.account)), statement.id, certificate: device.certificate), by: device.key)
        heldBySlices[device.account].formUnion(made.logs)
        trace?("\(device.name) makes baselines")
    }

    func warrant(
        of made: SimulatedBaseline, _ domain: Domain, _ statement: StatementIdentifier, certificate: StatementIdentifier?
    ) -> BaselineWarrant {
        var knowledge = Knowledge()
        let covered = Set(made.logs.compactMap { logs[$0]?.previous?.number })
        for number in made.logs where !covered.contains(number) { knowledge.insert(logs[number]!.position, of: logs[number]!.device.peer) }
        return BaselineWarrant(domain: domain, baseline: made.id, statement: statement, certificate: certificate, knowledge: knowledge)
    }

    /// Authors remove logs that the baselines of both domains hold, once each device of the account has them.
    ///
    /// Most have read all files just then, as a device has that is always on.
    func trim() {
        for reader in allReaders where !isIdle(reader) {
            if happens(0.5) { deliverAll(to: reader) }
            let device = reader.device!
            let own = files.filter { if case .log(let log) = $0.kind { log.device === device && log.signer == device.key } else { false } }
            guard !own.isEmpty else { continue }
            let (roles, slice) = (reader.held(in: .roles), reader.held(in: .slice(device.account)))
            let count = files.count
            for file in own where happens(0.5) {
                guard slice.contains(file.number), !requires(.trimHeld) || roles.contains(file.number) else { continue }
                let siblings = members[device.account].compactMap { readers[$0.number] }
                let isJoined = siblings.allSatisfy { $0[.slice(device.account)].logs.contains(file.number) }
                guard isJoined || !requires(.allReceipts) else { continue }
                remove(file.number)
                trace?("\(device.name) removes its log \(file.number)")
            }
            if files.count < count, happens(0.6) { lose(device) }
        }
    }

    /// With the identity key, on an honest device: a statement without the stolen devices, or to name those that were enrolled.
    func signDevices(of number: Int) {
        var signers = members[number].compactMap { readers[$0.number] }.filter { !isIdle($0) && isEnrolled($0) }
        guard !signers.isEmpty else { return }
        signers.shuffle(using: &random)
        // Sometimes two devices do it at once, which have not seen each other's.
        signers = Array(signers.prefix(happens(0.3) ? 2 : 1))
        for signer in signers { signer.settle() }
        let remaining = members[number].filter { !evil.contains($0.number) }
        for signer in signers { sign(newDevices: remaining, of: number, on: signer) }
        members[number] = remaining
    }

    private func sign(newDevices remaining: [SimulatedDevice], of number: Int, on reader: SimulatedReader) {
        // Devices of which this one has not heard are out.
        let devices = remaining.filter { knows(reader, $0) }
        let kept = Dictionary(uniqueKeysWithValues: devices.map { ($0.peer, $0.key) })
        guard isEnrolled(reader), var statement = reader.authority.nextStatement(of: account(number), devices: kept) else { return }
        let domain = SimulatedDomain.slice(number)
        var (held, effects) = (reader[domain].logs, reader.effects(in: domain))
        for last in lastLogs(of: held, without: Set(kept.values)) where happens(0.4) && !heldBySlices[number].contains(last) {
            held.remove(last)
            effects[last] = nil
        }
        let base = baseline(by: reader.device!, domain, held, registers(of: effects), effects: effects)
        statement.base = base.id
        heldBySlices[number].formUnion(held)
        sign(statement, by: identities[number])
        for file in files.suffix(2) { reader.deliver(file) }
        reader.settle()
        trace?("\(reader.device!.name) signs the devices \(devices.map(\.name)) of account \(number)")
    }

    /// Returns the last log of each device whose key is not among some.
    func lastLogs(of held: LogSet, without keys: Set<PublicKey>) -> [Int] {
        var last: [PublicKey: Int] = [:]
        for number in held where !keys.contains(logs[number]!.device.key) {
            last[logs[number]!.device.key] = max(last[logs[number]!.device.key] ?? 0, number)
        }
        return last.values.sorted()
    }

    /// An enrolled device of an account enrols another.
    func addDevice(to number: Int) {
        let sponsors = members[number].compactMap { readers[$0.number] }.filter { !isIdle($0) && isEnrolled($0) }
        guard !sponsors.isEmpty, members[number].count < 4 else { return }
        let sponsor = pick(sponsors)
        renewCertificate(sponsor)
        guard let statement = sponsor.authority.statement(of: account(number)) else { return }
        let new = makeDevice(of: number, "x")
        enrol(new, by: sponsor.device!, under: statement.id)
        members[number].append(new)
        let reader = SimulatedReader(self, device: new)
        readers[new.number] = reader
        deliverAll(to: reader)
        trace?("\(sponsor.device!.name) enrols \(new.name)")
    }

    func enrol(_ new: SimulatedDevice, by sponsor: SimulatedDevice, under statement: StatementIdentifier) {
        let enrolment = Enrolment(
            account: account(new.account), statement: statement, sponsor: sponsor.peer, certificate: sponsor.certificate, device: new.peer,
            key: new.key)
        new.certificate = sign(enrolment, by: sponsor.key).id
    }

    /// A device is lost: nobody has it, and nobody removes it.
    private func lose(_ device: SimulatedDevice) {
        let left = members[device.account].filter { !evil.contains($0.number) && !dead.contains($0.number) && $0 !== device }
        // Nobody can put back what it wrote and a thief of the steward hides.
        guard device.account != Self.owner, !left.isEmpty, theft == nil else { return }
        dead.insert(device.number)
        trace?("\(device.name) is lost")
        if happens(0.85) { signDevices(of: device.account) }
    }

    func loseDevice() { lose(pick(devices.filter { Self.holders.contains($0.account) })) }
}
