internal import Foundation
internal import UbiquityContainers

extension AccountStatement: SignedPayload {
    package static var kind: Envelope.Kind { .account }

    private enum Field { static let account = 1, version = 2, predecessor = 3, identity = 4, device = 5, base = 6 }

    package func encoded() -> [UInt8] {
        var writer = WireWriter(reserving: 256)
        if let account { writer.field(Field.account, hash: account.hash) }
        writer.field(Field.version, varint: UInt64(version))
        if let predecessor { writer.field(Field.predecessor, hash: predecessor.hash) }
        writer.field(Field.identity, bytes: identity.bytes)
        for (peer, key) in devices.sorted(by: { $0.key < $1.key }) {
            writer.field(Field.device) { entry in
                entry.field(1, string: peer.uuid.uuidString.lowercased())
                entry.field(2, bytes: key.bytes)
            }
        }
        if let base { writer.field(Field.base, base) }
        return writer.bytes
    }

    package init(fieldsOf bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var (account, version, predecessor, identity): (AccountIdentifier?, Int64?, StatementIdentifier?, PublicKey?)
        var (devices, base): ([ArraySlice<UInt8>], BaselineID?) = ([], nil)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.account: account = try value.account
            case Field.version: version = Int64(exactly: try value.number)
            case Field.predecessor: predecessor = try value.statement
            case Field.identity: identity = try value.key
            case Field.device: devices.append(try value.data)
            case Field.base: base = try value.baseline
            default: break
            }
        }
        guard let version, let identity, version > 0 else { throw LogFault.damaged("it lacks a field") }
        guard (version == 1) == (predecessor == nil), (version == 1) == (account == nil) else {
            throw LogFault.damaged("its account and predecessor do not fit its version")
        }
        self.init(account: account, version: version, predecessor: predecessor, identity: identity, devices: [:], base: base)
        for device in devices {
            let (peer, key) = try Self.device(device, of: account?.description ?? Self.unnamed)
            guard self.devices.updateValue(key, forKey: peer) == nil else { throw LogFault.damaged("it names the device \(peer.uuid) twice") }
        }
    }

    /// The account in the names of the first statement's devices, before the hash of the statement is known.
    package static let unnamed = "account"

    package func named(by id: StatementIdentifier) -> AccountStatement {
        guard account == nil else { return self }
        var named = self
        let account = AccountIdentifier(id.hash).description
        named.devices = [:]
        for (peer, key) in devices { named.devices[PeerIdentifier(account: account, uuid: peer.uuid)] = key }
        return named
    }

    private static func device(_ bytes: ArraySlice<UInt8>, of account: String) throws -> (PeerIdentifier, PublicKey) {
        var reader = WireReader(bytes)
        var (peer, key): (PeerIdentifier?, PublicKey?)
        while let (number, value) = try reader.nextField() {
            switch number {
            case 1: peer = try value.device(of: account)
            case 2: key = try value.key
            default: break
            }
        }
        guard let peer, let key else { throw LogFault.damaged("it has a device that lacks a field") }
        return (peer, key)
    }
}

extension Enrolment: SignedPayload {
    package static var kind: Envelope.Kind { .enrolment }

    private enum Field { static let account = 1, statement = 2, sponsor = 3, certificate = 4, device = 5, key = 6 }

    package func encoded() -> [UInt8] {
        var writer = WireWriter(reserving: 256)
        writer.field(Field.account, hash: account.hash)
        writer.field(Field.statement, hash: statement.hash)
        if let sponsor {
            writer.field(Field.sponsor, string: sponsor.device.uuid.uuidString.lowercased())
            writer.field(Field.certificate, hash: sponsor.certificate.hash)
        }
        writer.field(Field.device, string: device.uuid.uuidString.lowercased())
        writer.field(Field.key, bytes: key.bytes)
        return writer.bytes
    }

    package init(fieldsOf bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var (account, statement, sponsor): (AccountIdentifier?, StatementIdentifier?, WireReader.Value?)
        var (certificate, device, key): (StatementIdentifier?, WireReader.Value?, PublicKey?)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.account: account = try value.account
            case Field.statement: statement = try value.statement
            case Field.sponsor: sponsor = value
            case Field.certificate: certificate = try value.statement
            case Field.device: device = value
            case Field.key: key = try value.key
            default: break
            }
        }
        guard let account, let statement, let device, let key, (sponsor == nil) == (certificate == nil) else {
            throw LogFault.damaged("it lacks a field")
        }
        let name = account.description
        self.init(account: account, statement: statement, device: try device.device(of: name), key: key)
        if let sponsor, let certificate { self.sponsor = Sponsor(device: try sponsor.device(of: name), certificate: certificate) }
    }
}

extension Admittance: SignedPayload {
    package static var kind: Envelope.Kind { .admittance }

    package func encoded() -> [UInt8] {
        var writer = WireWriter(reserving: 80)
        writer.field(1, hash: account.hash)
        writer.field(2, hash: policy.hash)
        return writer.bytes
    }

    package init(fieldsOf bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var (account, policy): (AccountIdentifier?, StatementIdentifier?)
        while let (number, value) = try reader.nextField() {
            switch number {
            case 1: account = try value.account
            case 2: policy = try value.statement
            default: break
            }
        }
        guard let account, let policy else { throw LogFault.damaged("it lacks a field") }
        self.init(account: account, policy: policy)
    }
}
