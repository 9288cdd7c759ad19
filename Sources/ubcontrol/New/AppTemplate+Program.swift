// The program, and what is typed.
extension AppTemplate {
    var command: String {
        """
        /// What the program is asked to do.
        enum Command: Equatable {
            case list
            case add(String)
            case done(String)
            case run

            /// How the program is used.
            static let usage = \"""
                Usage: \(name.program) [list]
                       \(name.program) add TITLE
                       \(name.program) done TITLE
                       \(name.program) run             print what other devices change, until Ctrl-C
                \"""

            /// Reads the words behind the program's name; nil if they are no command.
            init?(_ words: [String]) {
                switch (words.first ?? "list", words.count) {
                case ("list", 0...1): self = .list
                case ("add", 2) where !words[1].isEmpty: self = .add(words[1])
                case ("done", 2): self = .done(words[1])
                case ("run", 1): self = .run
                default: return nil
                }
            }
        }

        """
    }

    var program: String {
        """
        \(imports("Foundation", "Ubiquity", name.storeModule))

        /// Items on the command line, equal on all devices of an account.
        @main
        struct \(name.type) {
            static func main() async {
                guard let command = Command(Array(CommandLine.arguments.dropFirst())) else {
                    write(Command.usage, to: .standardError)
                    exit(64)
                }
                do {
                    let store = try await ItemStore.open()
                    let isDone = try await perform(command, on: store)
                    // What is saved is published now, or goes out when the store is opened next.
                    if let reason = try await store.finish().reason { write("On this device only: \\(reason)", to: .standardError) }
                    exit(isDone ? 0 : 1)
                } catch {
                    write("Error: \\(error)", to: .standardError)
                    exit(1)
                }
            }

            /// Performs a command, and returns whether there was something to do.
            private static func perform(_ command: Command, on store: UbiquitousStore) async throws -> Bool {
                switch command {
                case .list:
                    await exchange(store)
                    for item in try await store.items() { write("[\\(item.isDone ? "x" : " ")] \\(printable(item.title))") }
                case .add(let title): try await store.add(title)
                case .done(let title):
                    await exchange(store)
                    guard try await store.markDone(title: title) > 0 else {
                        write("There is no item “\\(title)”; see: \(name.program) list", to: .standardError)
                        return false
                    }
                case .run:
                    // A store that stays open exchanges by itself. Ctrl-C ends the program; what is saved is never lost.
                    var notices = store.notices.makeAsyncIterator()
                    write("Waiting for other devices, until Ctrl-C.")
                    while let notice = await notices.next() { if let line = line(for: notice) { write(line) } }
                }
                return true
            }

            /// Takes in what other devices have sent.
            ///
            /// A failure costs nothing: the next exchange takes it in.
            private static func exchange(_ store: UbiquitousStore) async {
                do { try await store.settled() } catch { write("Not up to date: \\(error)", to: .standardError) }
            }

            /// Returns what the user should read of a notice; nil for nothing.
            private static func line(for notice: StoreNotice) -> String? {
                switch notice {
                case .didImport(let changes):
                    "other devices: \\(changes.inserted.count) new, \\(changes.updated.count) changed, \\(changes.deleted.count) removed"
                case .didFill: "filled with what other devices have saved"
                case .didSuspend: "the container is gone; everything stays here, and goes out when it is back"
                case .didResume: "the container is back"
                case .didChange(let transition): "now: \\(transition.added.file)"
                default: nil
                }
            }

            /// Returns text without control characters, by which a text from another device could steer the terminal.
            private static func printable(_ text: String) -> String {
                String(text.unicodeScalars.filter { $0.properties.generalCategory != .control })
            }

            /// Writes a line at once, also into a pipe.
            private static func write(_ text: String, to output: FileHandle = .standardOutput) { output.write(Data((text + "\\n").utf8)) }
        }

        """
    }
}
