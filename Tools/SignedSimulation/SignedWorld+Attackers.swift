import StoreAuthority
import StoreFormat
import UbiquityContainers

/// What attackers do: they write anything, with the keys that they hold.
extension SignedWorld {
    func attack() {
        if let theft, happens(0.5) { return actAsThief(theft) }
        let stolen = evil.sorted().filter { devices[$0].account != Self.attacker }
        let device = devices[pick(stolen.isEmpty || happens(0.3) ? evil.sorted() : stolen)]
        let time = pick([1, wall + Int64(number(-500...500)), happens(0.5) ? Self.latest - 1 : wall])
        switch Double.random(in: 0..<1, using: &random) {
        case ..<0.62:
            var previous = device.last
            if happens(0.15), let last = previous { previous = last.previous }
            writeAnything(by: device, after: previous, at: max(1, time))
        case ..<0.7:
            let victim = pick(devices.filter { !evil.contains($0.number) })
            _ = write(by: victim, signer: device.key, after: victim.last, naming: pick(sound), [anyChange(of: device.account, at: max(1, time))])
        case ..<0.76:
            let last = policies[pick(sound)]!
            var policy = last.value
            (policy.version, policy.predecessor, policy.merges, policy.base) = (policy.version + 1, last.id, [], nil)
            for role in ["editor", "moderator"] { policy.roles[role] = [account(device.account)] }
            policy.pins[account(device.account)] = first[device.account].id
            sign(policy, by: device.key)
        case ..<0.79:
            let victim = number(0...3)
            sign(
                AccountStatement(
                    account: account(victim), version: 7, predecessor: first[victim].id, identity: identities[victim],
                    devices: [device.peer: device.key], base: baselines.keys.min()),
                by: device.key)
        case ..<0.91: enrolSibling(of: device)
        default: forgeBaseline(by: device, at: max(1, time))
        }
    }

    private func writeAnything(by device: SimulatedDevice, after previous: SimulatedLog?, at time: Int64) {
        let changes = (0..<number(1...3)).map { _ in anyChange(of: device.account, at: time) }
        let file = write(by: device, signer: device.key, after: previous, naming: pick(sound), changes)
        device.last = logs[file.number]
        trace?("\(device.name), stolen, writes log \(file.number) after \(previous.map { "\($0.number)" } ?? "nothing")")
    }

    private func anyChange(of account: Int, at time: Int64) -> SimulatedChange {
        let life = number(1...4)
        let columns: [SimulatedColumn: Cell] =
            life % 2 == 0 ? [:] : [pick([.x, .y]): Cell(time: time, value: 666), .on: Cell(time: time, value: number(0...1))]
        let key: SimulatedKey
        switch Double.random(in: 0..<1, using: &random) {
        case ..<0.35: key = .template(number(0...2))
        case ..<0.5: key = happens(0.5) ? .block(account: number(Self.holders)) : .veto(account: number(Self.holders), number(0...2))
        default: key = .record(account: happens(0.4) ? account : pick([1, 2, 3, 4, 5]), number(0...2))
        }
        return SimulatedChange(key: key, life: life, columns: columns)
    }

    /// A stolen device enrols another, sometimes under the name of a device that the account has.
    private func enrolSibling(of device: SimulatedDevice) {
        let own = devices.filter { $0.account == device.account && !evil.contains($0.number) }
        let enrolled = own.filter { accountStatements[$0.certificate] == nil }
        let peer = happens(0.6) && !own.isEmpty ? pick(enrolled.isEmpty ? own : enrolled).peer : nil
        guard let statement = root(of: device.certificate) else { return }
        let new = makeDevice(of: device.account, "e", named: peer)
        enrol(new, by: device, under: statement)
        evil.insert(new.number)
        trace?("\(device.name), stolen, enrols \(new.name)\(peer == nil ? "" : " under another's name")")
        if happens(0.5) { writeAnything(by: new, after: nil, at: wall) }
        // Its account may see that, and react.
        if peer != nil, device.account != Self.owner, happens(0.5) { signDevices(of: device.account) }
    }

    /// Returns the account's statement under which a certificate stands.
    private func root(of certificate: StatementIdentifier) -> StatementIdentifier? {
        if accountStatements[certificate] != nil { return certificate }
        for file in files {
            if case .statement(.enrolment(let enrolment)) = file.kind, enrolment.id == certificate { return enrolment.value.statement }
        }
        return nil
    }

    private func forgeBaseline(by device: SimulatedDevice, at time: Int64) {
        let target: SimulatedDomain = happens(0.3) ? .roles : .slice(number(0...Self.attacker))
        if target == .slice(device.account), let root = root(of: device.certificate) {
            // What an enrolled device says of its own account is the account's word, to readers that do not know better.
            let oracle = SimulatedReader(self, device: nil)
            for file in files {
                if case .statement(.account(let signed)) = file.kind, signed.account == account(device.account), signed.id != root { continue }
                oracle.deliver(file)
            }
            oracle.settle()
            guard oracle.authority.statement(of: account(device.account))?.id == root else { return }
            let joined = oracle[target]
            let made = baseline(by: device, target, joined.logs, joined.registers, clock: joined.clock, effects: oracle.effects(in: target))
            return sign(warrant(of: made, domain(target), root, certificate: device.certificate), by: device.key)
        }
        var registers = Registers()
        var held = LogSet()
        let key: SimulatedKey
        switch target {
        case .roles: key = .template(0)
        case .slice(let account): key = .record(account: account, 0)
        }
        registers.join(key, .init(life: 1, columns: [.x: Cell(time: time, peer: device.number, value: 666)]))
        for (number, log) in logs where target == .roles || target == .slice(log.device.account) { held.insert(number) }
        // The steward's device, stolen, warrants it with the steward's key.
        let isTheft = device.key == theft?.key && target == .roles
        let made = baseline(by: device, target, held, registers, clock: time, isPoisoned: isTheft)
        let statement = target == .roles ? pick(sound) : pick(accountStatements.keys.sorted())
        sign(warrant(of: made, domain(target), statement, certificate: happens(0.5) ? device.certificate : nil), by: device.key, isTheft: isTheft)
    }

    /// The thief of the steward's key signs policies and baselines.
    private func actAsThief(_ theft: Theft) {
        let own = sound.filter { policies[$0]!.value.steward == theft.key }
        let last = policies[pick(happens(0.6) ? Array(own.suffix(2)) : own)]!
        if happens(0.3) {
            let made = poison(theft)
            return sign(warrant(of: made, .roles, last.id, certificate: nil), by: theft.key, isTheft: true)
        }
        var policy = last.value
        (policy.version, policy.predecessor, policy.merges, policy.base) = (policy.version + 1, last.id, [], nil)
        let friends = Set(evil.map { account(devices[$0].account) })
        for role in ["editor", "moderator"] { policy.roles[role] = friends.union(happens(0.5) ? policy.roles[role] ?? [] : []) }
        for number in Set(evil.map { devices[$0].account }).sorted() where policy.pins[account(number)] == nil {
            policy.pins[account(number)] = first[number].id
        }
        if happens(0.5) {
            policy.base = poison(theft).id
            policy.cuts.insert(.init(account: account(number(Self.holders)), before: policy.version))
        }
        sound.append(sign(policy, by: theft.key, isTheft: true).id)
        trace?("the thief signs policy \(policy.version)")
    }

    private func poison(_ theft: Theft) -> SimulatedBaseline {
        var (registers, held) = (Registers(), LogSet())
        registers.join(.template(number(0...2)), .init(life: 9, columns: [.x: Cell(time: Self.latest - 1, peer: 0, value: 666)]))
        for number in logs.keys.sorted() where happens(0.8) { held.insert(number) }
        return baseline(by: devices[0], .roles, held, registers, isPoisoned: true)
    }
}
