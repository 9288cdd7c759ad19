internal import UbiquityContainers

extension BaselineWarrant: SignedPayload {
    package static var kind: Envelope.Kind { .baseline }

    private enum Field {
        static let account = 1, baseline = 2, statement = 3, certificate = 4, head = 5, hole = 6
        static let peer = 1, sequence = 2, hash = 3
    }

    package func encoded() -> [UInt8] {
        var writer = WireWriter(reserving: 256)
        if case .slice(let account) = domain { writer.field(Field.account, hash: account.hash) }
        writer.field(Field.baseline, baseline)
        writer.field(Field.statement, hash: statement.hash)
        if let certificate { writer.field(Field.certificate, hash: certificate.hash) }
        for (number, positions) in [(Field.head, knowledge.heads), (Field.hole, knowledge.holes)] {
            for (peer, positions) in positions.sorted(by: { $0.key < $1.key }) {
                for position in positions.sorted() {
                    writer.field(number) { entry in
                        entry.field(Field.peer, string: peer.description)
                        entry.field(Field.sequence, varint: UInt64(position.sequence))
                        entry.field(Field.hash, hash: position.hash)
                    }
                }
            }
        }
        return writer.bytes
    }

    package init(fieldsOf bytes: ArraySlice<UInt8>) throws {
        var reader = WireReader(bytes)
        var (account, baseline, statement, certificate): (AccountIdentifier?, BaselineID?, StatementIdentifier?, StatementIdentifier?)
        var knowledge = Knowledge()
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.account: account = try value.account
            case Field.baseline: baseline = try value.baseline
            case Field.statement: statement = try value.statement
            case Field.certificate: certificate = try value.statement
            case Field.head:
                let (peer, position) = try Self.position(try value.data)
                knowledge.insert(position, of: peer)
            case Field.hole:
                let (peer, position) = try Self.position(try value.data)
                knowledge.insertHole(position, of: peer)
            default: break
            }
        }
        guard let baseline, let statement else { throw LogFault.damaged("it lacks a field") }
        self.init(
            domain: account.map(Domain.slice) ?? .roles, baseline: baseline, statement: statement, certificate: certificate, knowledge: knowledge)
    }

    private static func position(_ bytes: ArraySlice<UInt8>) throws -> (PeerIdentifier, Knowledge.Position) {
        var reader = WireReader(bytes)
        var (peer, sequence, hash): (PeerIdentifier?, Int64?, ContentHash?)
        while let (number, value) = try reader.nextField() {
            switch number {
            case Field.peer: peer = try value.peer
            case Field.sequence: sequence = Int64(exactly: try value.number)
            case Field.hash: hash = try value.hash
            default: break
            }
        }
        guard let peer, let sequence, let hash, (1...Knowledge.Position.lastSequence).contains(sequence) else {
            throw LogFault.damaged("its knowledge is malformed")
        }
        return (peer, .init(sequence: sequence, hash: hash))
    }
}
