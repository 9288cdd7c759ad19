internal import Foundation
internal import UbiquityContainers

/// A payload of a signed file: a value with one encoding.
package protocol SignedPayload: Hashable, Sendable {
    /// The kind of file that holds the payload.
    static var kind: Envelope.Kind { get }

    /// The payload in the Protocol Buffers wire format.
    func encoded() -> [UInt8]

    /// Reads fields; unknown fields are skipped.
    ///
    /// - Throws: `WireReader.Fault` or `LogFault`.
    init(fieldsOf bytes: ArraySlice<UInt8>) throws

    /// Returns the payload with what the hash of its file names.
    func named(by id: StatementIdentifier) -> Self
}

extension SignedPayload {
    package func named(by id: StatementIdentifier) -> Self { self }
}

/// A payload, with the key that signed it and the hash of its file.
package struct Signed<Value: SignedPayload>: Hashable, Sendable {
    package let id: StatementIdentifier
    package let signer: PublicKey
    package let value: Value

    package init(id: StatementIdentifier, signer: PublicKey, value: Value) { (self.id, self.signer, self.value) = (id, signer, value) }

    /// Reads a signed file and verifies its signature.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - container: the container that the file must be for.
    /// - Throws: `LogFault`.
    package init(decoding bytes: [UInt8], in container: ScopeIdentifier) throws(LogFault) {
        let envelope = try Envelope(decoding: bytes)
        self = try Self(of: envelope)
        guard envelope.isGenuine(in: container) else {
            throw .damaged("its signature is not valid: it is altered, or was not made for this container with the key that it names")
        }
    }

    /// Reads the payload of a signed file without verifying the signature.
    package init(of envelope: Envelope) throws(LogFault) {
        guard envelope.kind == Value.kind else { throw .damaged("it is of the kind \(envelope.kind), not \(Value.kind)") }
        do {
            let id = StatementIdentifier(envelope.hash)
            self.init(id: id, signer: envelope.signer, value: try Value(fieldsOf: envelope.payload).named(by: id))
        } catch let fault as LogFault {
            throw fault
        } catch let fault as WireReader.Fault {
            throw .damaged("its payload is \(fault == .truncated ? "truncated" : "malformed")")
        } catch {
            throw .damaged("its payload is malformed")
        }
    }
}

extension SignedPayload {
    /// Returns the payload's file before its signature.
    package func draft(by signer: PublicKey) -> Envelope.Draft { Envelope.Draft(Self.kind, encoded(), by: signer) }

    /// Returns the whole file, signed.
    package func signed(with key: PrivateKey, in container: ScopeIdentifier) -> [UInt8] {
        draft(by: key.publicKey).signed(with: key, in: container)
    }
}

extension WireReader.Value {
    var statement: StatementIdentifier { get throws { StatementIdentifier(try hash) } }
    var account: AccountIdentifier { get throws { AccountIdentifier(try hash) } }

    var hash: ContentHash {
        get throws {
            guard let hash = ContentHash(bytes: try data) else { throw LogFault.damaged("it has a hash that is not 32 bytes") }
            return hash
        }
    }

    var key: PublicKey {
        get throws {
            guard let key = PublicKey(bytes: try data) else { throw LogFault.damaged("it has a key that is not 32 bytes") }
            return key
        }
    }

    var peer: PeerIdentifier {
        get throws {
            guard let peer = PeerIdentifier(try string) else { throw LogFault.damaged("it has a device's name that is not valid") }
            return peer
        }
    }

    /// The device of an account, of whose name the account is a part.
    func device(of account: String) throws -> PeerIdentifier {
        let text = try string
        guard let uuid = UUID(uuidString: text), uuid.uuidString.lowercased() == text else {
            throw LogFault.damaged("it has a device's name that is not valid")
        }
        return PeerIdentifier(account: account, uuid: uuid)
    }

    /// A number that is not negative.
    var count: Int64 { get throws { Int64(clamping: try number) } }

    var baseline: BaselineID {
        get throws {
            var reader = WireReader(try data)
            var (peer, name): (PeerIdentifier?, BaselineName?)
            while let (number, value) = try reader.nextField() {
                switch number {
                case 1: peer = try value.peer
                case 2: name = BaselineName(try value.string)
                default: break
                }
            }
            guard let peer, let name else { throw LogFault.damaged("it has a baseline's name that is not valid") }
            return BaselineID(peer: peer, name: name)
        }
    }
}

extension WireWriter {
    mutating func field(_ number: Int, hash: ContentHash) { field(number, bytes: hash.bytes) }

    mutating func field(_ number: Int, _ baseline: BaselineID) {
        var entry = WireWriter()
        entry.field(1, string: baseline.peer.description)
        entry.field(2, string: baseline.name.description)
        field(number, bytes: entry.bytes)
    }

    /// Writes a message inside this one.
    mutating func field(_ number: Int, message: (inout WireWriter) -> Void) {
        var entry = WireWriter()
        message(&entry)
        field(number, bytes: entry.bytes)
    }
}
