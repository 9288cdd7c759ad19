/// Where a Syncthing's own `config.xml` says that its web interface answers.
package struct SyncthingInterface: Hashable, Sendable {
    package var isEnabled = true
    package var usesTLS = false
    /// The address as the file gives it, such as `127.0.0.1:8384`.
    package var address = ""
    package var key = ""

    package init() {}

    /// Reads a `config.xml`.
    ///
    /// - Parameter configuration: the bytes of the file.
    /// - Throws: ``SetupError`` without the name of the file, as the end of a sentence.
    package init(configuration: [UInt8]) throws(SetupError) {
        var reader = ElementReader(configuration)
        var path: [String] = []
        var hasRoot = false
        do throws(ElementReader.Malformed) {
            while let token = try reader.next() {
                switch token {
                case .start(let name, let attributes):
                    path.append(name)
                    hasRoot = hasRoot || path == ["configuration"]
                    if path == ["configuration", "gui"] {
                        isEnabled = attributes["enabled"] != "false"
                        usesTLS = attributes["tls"] == "true"
                    }
                case .end: path.removeLast()
                case .text(let text) where path == ["configuration", "gui", "address"]: address += text
                case .text(let text) where path == ["configuration", "gui", "apikey"]: key += text
                case .text: break
                }
            }
        } catch {
            throw SetupError("is not a configuration of Syncthing, or damaged; name Syncthing's own directory with --syncthing-home")
        }
        guard hasRoot else { throw SetupError("is not a configuration of Syncthing; name Syncthing's own directory with --syncthing-home") }
        (address, key) = (Self.trimmed(address), Self.trimmed(key))
    }

    /// The address for a program on this device, such as `http://127.0.0.1:8384`.
    ///
    /// - Throws: ``SetupError`` without the name of the file, as the end of a sentence.
    package var url: String {
        get throws(SetupError) {
            guard isEnabled else {
                throw SetupError("switches the web interface off; set enabled=\"true\" in its element gui, and restart Syncthing")
            }
            guard !address.hasPrefix("/"), !address.hasPrefix("unix") else {
                throw SetupError("has the web interface on a Unix socket, which is not supported; give it an address such as 127.0.0.1:8384")
            }
            guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]), port > 0 else {
                throw SetupError(
                    "has \(address.debugDescription) as the address of the web interface, which has no port; correct it, or use --address and --key")
            }
            // An interface that listens on every address also listens on the loopback's.
            let host =
                switch address[..<colon] {
                case "", "0.0.0.0", "*": "127.0.0.1"
                case "[::]", "::": "[::1]"
                case let host: String(host)
                }
            return "\(usesTLS ? "https" : "http")://\(host):\(port)"
        }
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
