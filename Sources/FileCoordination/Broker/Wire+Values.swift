import SystemPackage

// The bytes of the arbiter's values. An enumeration has one byte for the case, then its values.

extension ClientID: Wire {
    func write(to writer: inout WireWriter) { writer.fixed(number) }
    init(from reader: inout WireReader) throws(WireError) { self.init(try reader.fixed()) }
}

extension ClaimID: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(client)
        writer.number(number)
    }
    init(from reader: inout WireReader) throws(WireError) { self.init(try reader.get(), try reader.number()) }
}

extension PresenterID: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(client)
        writer.number(number)
    }
    init(from reader: inout WireReader) throws(WireError) { self.init(try reader.get(), try reader.number()) }
}

extension MessageID: Wire {
    func write(to writer: inout WireWriter) { writer.fixed(number) }
    init(from reader: inout WireReader) throws(WireError) { self.init(try reader.fixed()) }
}

extension Purpose: Wire {
    func write(to writer: inout WireWriter) {
        switch self {
        case .coordinator(let client, let number):
            writer.byte(0)
            writer.put(client)
            writer.number(number)
        case .presenter(let id):
            writer.byte(1)
            writer.put(id)
        case .named(let name):
            writer.byte(2)
            writer.put(name)
        case .delegation(let client):
            writer.byte(3)
            writer.put(client)
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .coordinator(try reader.get(), try reader.number())
        case 1: self = .presenter(try reader.get())
        case 2: self = .named(try reader.get())
        case 3: self = .delegation(try reader.get())
        default: throw WireError("a purpose of no known kind")
        }
    }
}

extension Surrounding: Wire {
    func write(to writer: inout WireWriter) {
        switch self {
        case .claim(let id):
            writer.byte(0)
            writer.put(id)
        case .message(let id):
            writer.byte(1)
            writer.put(id)
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .claim(try reader.get())
        case 1: self = .message(try reader.get())
        default: throw WireError("a surrounding of no known kind")
        }
    }
}

extension Access: Wire {
    func write(to writer: inout WireWriter) {
        switch self {
        case .read(let options):
            writer.byte(0)
            writer.number(UInt64(options.rawValue))
        case .write(let options):
            writer.byte(1)
            writer.number(UInt64(options.rawValue))
        }
    }

    init(from reader: inout WireReader) throws(WireError) {
        let kind = try reader.byte()
        guard let options = UInt32(exactly: try reader.number()) else { throw WireError("options of more than 32 bits") }
        switch kind {
        case 0: self = .read(.init(rawValue: options))
        case 1: self = .write(.init(rawValue: options))
        default: throw WireError("an access that neither reads nor writes")
        }
    }
}

extension ClaimItem: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(path)
        writer.put(access)
        writer.put(packageDepths)
    }
    init(from reader: inout WireReader) throws(WireError) {
        let path: FilePath = try reader.get()
        let access: Access = try reader.get()
        self.init(path, access, packageDepths: try reader.get())
    }
}

extension ClaimRequest: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(id)
        writer.number(coordinator)
        writer.put(purpose)
        writer.put(presenter)
        writer.put(surroundings)
        writer.put(items)
        writer.put(isPreparation)
    }
    init(from reader: inout WireReader) throws(WireError) {
        self.init(
            id: try reader.get(), coordinator: try reader.number(), purpose: try reader.get(), presenter: try reader.get(),
            surroundings: try reader.get(), items: try reader.get(), isPreparation: try reader.get())
    }
}

extension Move: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(from)
        writer.put(to)
        writer.put(packageDepths)
    }
    init(from reader: inout WireReader) throws(WireError) {
        self.init(from: try reader.get(), to: try reader.get(), packageDepths: try reader.get())
    }
}

extension Observation: Wire {
    func write(to writer: inout WireWriter) { writer.byte((existedBefore ? 1 : 0) | (existsAfter ? 2 : 0)) }
    init(from reader: inout WireReader) throws(WireError) {
        let bits = try reader.byte()
        guard bits < 4 else { throw WireError("an observation of unknown bits") }
        self.init(existedBefore: bits & 1 != 0, existsAfter: bits & 2 != 0)
    }
}

extension Cause: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(client)
        writer.put(process)
        writer.put(purpose)
    }
    init(from reader: inout WireReader) throws(WireError) {
        self.init(client: try reader.get(), process: try reader.get(), purpose: try reader.get())
    }
}

extension Grant: Wire {
    func write(to writer: inout WireWriter) {
        writer.put(paths)
        writer.byte((isObserved ? 1 : 0) | (isPresented ? 2 : 0))
    }
    init(from reader: inout WireReader) throws(WireError) {
        let paths: [FilePath] = try reader.get()
        let bits = try reader.byte()
        self.init(paths: paths, isObserved: bits & 1 != 0, isPresented: bits & 2 != 0)
    }
}

extension WaitStep: Wire {
    func write(to writer: inout WireWriter) {
        writer.byte(kind == .heldClaim ? 0 : kind == .waitingClaim ? 1 : kind == .presenter ? 2 : 3)
        writer.put(process)
        writer.put(purpose)
        writer.put(paths)
        writer.put(activity)
    }
    init(from reader: inout WireReader) throws(WireError) {
        let kind: Kind
        switch try reader.byte() {
        case 0: kind = .heldClaim
        case 1: kind = .waitingClaim
        case 2: kind = .presenter
        case 3: kind = .broker
        default: throw WireError("a wait of no known kind")
        }
        self.init(kind: kind, process: try reader.get(), purpose: try reader.get(), paths: try reader.get(), activity: try reader.get())
    }
}
