import StoreAuthority
import StoreFormat
import UbiquityContainers

/// A device of an account: a name and a key.
///
/// Two devices may have one name, where an attacker has enrolled its key under another's.
final class SimulatedDevice {
    let number: Int
    let name: String
    let account: Int
    let peer: PeerIdentifier
    let key: PublicKey
    var certificate: StatementIdentifier
    /// The last log that the device has written.
    var last: SimulatedLog?

    init(number: Int, name: String, account: Int, peer: PeerIdentifier, key: PublicKey, certificate: StatementIdentifier) {
        (self.number, self.name, self.account, self.peer) = (number, name, account, peer)
        (self.key, self.certificate) = (key, certificate)
    }
}

/// A log, with the key that really made it.
final class SimulatedLog {
    let number: Int
    let device: SimulatedDevice
    let signer: PublicKey
    let position: Knowledge.Position
    let previous: SimulatedLog?
    let rights: LogRights
    let changes: [SimulatedChange]

    init(
        number: Int, device: SimulatedDevice, signer: PublicKey, hash: ContentHash, previous: SimulatedLog?, rights: LogRights,
        changes: [SimulatedChange]
    ) {
        (self.number, self.device, self.signer, self.previous) = (number, device, signer, previous)
        position = .init(sequence: (previous?.position.sequence ?? 0) + 1, hash: hash)
        (self.rights, self.changes) = (rights, changes)
    }

    var isCurated: Bool { changes.contains { $0.key.table.role != nil } }
}

/// A domain of the world: the roles', or the slice of a numbered account.
enum SimulatedDomain: Hashable {
    case roles
    case slice(Int)
}

/// A baseline: the registers of a domain, and the logs that it holds.
final class SimulatedBaseline {
    let id: BaselineID
    let domain: SimulatedDomain
    let logs: LogSet
    let registers: Registers
    let clock: Int64
    /// The changes of its logs that count in it, as bits, which the world knows of an honest base.
    let effects: [Int: UInt64]
    /// Whether an authority's stolen key has made it, with contents of the thief's choice.
    let isPoisoned: Bool

    init(
        id: BaselineID, domain: SimulatedDomain, logs: LogSet, registers: Registers, clock: Int64, effects: [Int: UInt64] = [:],
        isPoisoned: Bool = false
    ) {
        (self.id, self.domain, self.logs, self.registers) = (id, domain, logs, registers)
        (self.clock, self.effects, self.isPoisoned) = (clock, effects, isPoisoned)
    }
}

/// A file of the container, with the order in which it was made.
struct SimulatedFile {
    enum Kind {
        case statement(Statement)
        case baseline(SimulatedBaseline)
        case log(SimulatedLog)
    }

    let number: Int
    let kind: Kind
    /// Whether the thief of the steward's key has signed it.
    var isTheft = false
}
