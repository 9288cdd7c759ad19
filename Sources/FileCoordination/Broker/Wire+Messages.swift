import SystemPackage

extension PresenterMessage.VersionEvent: Wire {
    func write(to writer: inout WireWriter) { writer.byte(self == .gained ? 0 : self == .lost ? 1 : 2) }
    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .gained
        case 1: self = .lost
        case 2: self = .resolved
        default: throw WireError("a version event of no known kind")
        }
    }
}

extension PresenterMessage: Wire {
    func write(to writer: inout WireWriter) {
        switch self {
        case .relinquishToReader: writer.byte(0)
        case .relinquishToWriter: writer.byte(1)
        case .saveChanges: writer.byte(2)
        case .accommodateDeletion: writer.byte(3)
        case .accommodateSubitemDeletion(let path):
            writer.byte(4)
            writer.put(path)
        case .reacquire(let message):
            writer.byte(5)
            writer.put(message)
        case .didMove(let path):
            writer.byte(6)
            writer.put(path)
        case .didChange: writer.byte(7)
        case .didDisappear: writer.byte(8)
        case .subitemDidAppear(let path):
            writer.byte(9)
            writer.put(path)
        case .subitemDidMove(let from, let to):
            writer.byte(10)
            writer.put(from)
            writer.put(to)
        case .subitemDidChange(let path):
            writer.byte(11)
            writer.put(path)
        case .didChangeUbiquityAttributes(let names):
            writer.byte(12)
            writer.put(names)
        case .version(let event, let version):
            writer.byte(13)
            writer.put(event)
            writer.put(version)
        case .subitemVersion(let event, let version, let path):
            writer.byte(14)
            writer.put(event)
            writer.put(version)
            writer.put(path)
        case .accommodateEviction: writer.byte(15)
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .relinquishToReader
        case 1: self = .relinquishToWriter
        case 2: self = .saveChanges
        case 3: self = .accommodateDeletion
        case 4: self = .accommodateSubitemDeletion(try reader.get())
        case 5: self = .reacquire(try reader.get())
        case 6: self = .didMove(try reader.get())
        case 7: self = .didChange
        case 8: self = .didDisappear
        case 9: self = .subitemDidAppear(try reader.get())
        case 10: self = .subitemDidMove(from: try reader.get(), to: try reader.get())
        case 11: self = .subitemDidChange(try reader.get())
        case 12: self = .didChangeUbiquityAttributes(try reader.get())
        case 13: self = .version(try reader.get(), try reader.get())
        case 14: self = .subitemVersion(try reader.get(), try reader.get(), try reader.get())
        case 15: self = .accommodateEviction
        default: throw WireError("a message of no known kind")
        }
    }
}

extension Delivery: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(id)
        writer.put(presenter)
        writer.put(message)
        writer.put(cause)
        writer.put(awaitedBy)
    }
    init(from reader: inout WireReader) throws(WireError) {
        self.init(
            id: try reader.get(), presenter: try reader.get(), message: try reader.get(), cause: try reader.get(), awaitedBy: try reader.get())
    }
}

extension ClaimFailure: Wire {
    func write(to writer: inout WireWriter) {
        switch self {
        case .cancelled: writer.byte(0)
        case .deadline(let steps):
            writer.byte(1)
            writer.put(steps)
        case .refused(let message, let presenter, let reason):
            writer.byte(2)
            writer.put(message)
            writer.put(presenter)
            writer.put(reason)
        case .cycle(let steps):
            writer.byte(3)
            writer.put(steps)
        case .rejected(let reason):
            writer.byte(4)
            writer.put(reason)
        }
    }
    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .cancelled
        case 1: self = .deadline(try reader.get())
        case 2: self = .refused(try reader.get(), try reader.get(), try reader.get())
        case 3: self = .cycle(try reader.get())
        case 4: self = .rejected(try reader.get())
        default: throw WireError("a failure of no known kind")
        }
    }
}

extension PresenterRefusal: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(reason)
        writer.put(domain)
        writer.number(UInt64(bitPattern: Int64(code)))
    }
    init(from reader: inout WireReader) throws(WireError) {
        self.init(try reader.get(), domain: try reader.get(), code: Int(Int64(bitPattern: try reader.number())))
    }
}

extension ArbiterEvent.Answer: Wire {
    func write(to writer: inout WireWriter) {
        switch self {
        case .done: writer.byte(0)
        case .refused(let reason):
            writer.byte(1)
            writer.put(reason)
        }
    }
    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .done
        case 1: self = .refused(try reader.get())
        default: throw WireError("an answer of no known kind")
        }
    }
}

extension ArbiterAction: Wire {
    func write(to writer: inout WireWriter) {
        switch self {
        case .grant(let id, let grant):
            writer.byte(0)
            writer.put(id)
            writer.put(grant)
        case .fail(let id, let failure):
            writer.byte(1)
            writer.put(id)
            writer.put(failure)
        case .deliver(let delivery):
            writer.byte(2)
            writer.put(delivery)
        }
    }
    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .grant(try reader.get(), try reader.get())
        case 1: self = .fail(try reader.get(), try reader.get())
        case 2: self = .deliver(try reader.get())
        default: throw WireError("an action of no known kind")
        }
    }
}

extension ArbiterEvent: Wire {
    func write(to writer: inout WireWriter) {
        switch self {
        case .request(let request):
            writer.byte(0)
            writer.put(request)
        case .end(let id, let observations):
            writer.byte(1)
            writer.put(id)
            writer.put(observations)
        case .cancel(let id):
            writer.byte(2)
            writer.put(id)
        case .deadline(let id):
            writer.byte(3)
            writer.put(id)
        case .moved(let id, let move):
            writer.byte(4)
            writer.put(id)
            writer.put(move)
        case .addPresenter(let id, let path, let observed):
            writer.byte(5)
            writer.put(id)
            writer.put(path)
            writer.put(observed)
        case .removePresenter(let id):
            writer.byte(6)
            writer.put(id)
        case .relocatePresenter(let id, let path):
            writer.byte(7)
            writer.put(id)
            writer.put(path)
        case .noticed(let id, let message):
            writer.byte(8)
            writer.put(id)
            writer.put(message)
        case .handled(let id, let answer):
            writer.byte(9)
            writer.put(id)
            writer.put(answer)
        case .attributesChanged(let path, let names, let cause):
            writer.byte(10)
            writer.put(path)
            writer.put(names)
            writer.put(cause)
        case .versionChanged(let path, let event, let version, let cause):
            writer.byte(11)
            writer.put(path)
            writer.put(event)
            writer.put(version)
            writer.put(cause)
        case .clientJoined, .clientGone, .adopted, .passedOver, .resumed, .missed:
            preconditionFailure("Only the host of an arbiter tells it of \(self)")
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .request(try reader.get())
        case 1: self = .end(try reader.get(), try reader.get())
        case 2: self = .cancel(try reader.get())
        case 3: self = .deadline(try reader.get())
        case 4: self = .moved(try reader.get(), try reader.get())
        case 5: self = .addPresenter(try reader.get(), try reader.get(), observedAttributes: try reader.get())
        case 6: self = .removePresenter(try reader.get())
        case 7: self = .relocatePresenter(try reader.get(), try reader.get())
        case 8: self = .noticed(try reader.get(), try reader.get())
        case 9: self = .handled(try reader.get(), try reader.get())
        case 10: self = .attributesChanged(try reader.get(), try reader.get(), try reader.get())
        case 11: self = .versionChanged(try reader.get(), try reader.get(), version: try reader.get(), try reader.get())
        default: throw WireError("an event of no known kind")
        }
    }
}
