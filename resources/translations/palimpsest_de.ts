<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
  <context>
    <name>palimpsest</name>
    <message>
      <source>
Fits as well: {alternatives}</source>
      <translation>
Passt auch: {alternatives}</translation>
    </message>
    <message>
      <source>
Hash: {hashing}</source>
      <translation>
Hash: {hashing}</translation>
    </message>
    <message>
      <source>
Numbers: {numbering}</source>
      <translation>
Nummern: {numbering}</translation>
    </message>
    <message>
      <source>
… {data} more; copy gives everything</source>
      <translation>
… {data} weitere; Kopieren liefert alles</translation>
    </message>
    <message>
      <source>   together with {listed}</source>
      <translation>   zusammen mit {listed}</translation>
    </message>
    <message>
      <source>  hidden</source>
      <translation>  ausgeblendet</translation>
    </message>
    <message>
      <source>  usually {usual}</source>
      <translation>  meist {usual}</translation>
    </message>
    <message>
      <source> ({share} % sure)</source>
      <translation> ({share} % sicher)</translation>
    </message>
    <message>
      <source> All {total} of your choices still apply.</source>
      <translation> Alle {total} Ihrer Entscheidungen gelten weiterhin.</translation>
    </message>
    <message>
      <source> It fits {alternatives} as well.</source>
      <translation> Es passt auch zu {alternatives}.</translation>
    </message>
    <message>
      <source> It is at {version} now.</source>
      <translation> Es steht jetzt bei {version}.</translation>
    </message>
    <message>
      <source> It is marked as production.</source>
      <translation> Es ist als Produktion gekennzeichnet.</translation>
    </message>
    <message>
      <source> Look at the result, then save again.</source>
      <translation> Sehen Sie das Ergebnis an und speichern Sie dann erneut.</translation>
    </message>
    <message>
      <source> These data are in memory, so the counts are kept as long as this connection is open.</source>
      <translation> Diese Daten liegen im Speicher, daher werden die Zahlen behalten, solange diese Verbindung offen ist.</translation>
    </message>
    <message>
      <source> What was edited in memory is thrown away.</source>
      <translation> Was im Speicher bearbeitet wurde, wird verworfen.</translation>
    </message>
    <message>
      <source> Your choice still applies.</source>
      <translation> Ihre Entscheidung gilt weiterhin.</translation>
    </message>
    <message>
      <source> and </source>
      <translation> und </translation>
    </message>
    <message>
      <source> and {changes}</source>
      <translation> und {changes}</translation>
    </message>
    <message>
      <source> and {collections} that could not be counted</source>
      <translation> und {collections}, nicht zählbar</translation>
    </message>
    <message>
      <source> at {v}</source>
      <translation> bei {v}</translation>
    </message>
    <message>
      <source> became </source>
      <translation> wurde zu </translation>
    </message>
    <message>
      <source> by {author}</source>
      <translation> von {author}</translation>
    </message>
    <message>
      <source> changed</source>
      <translation> geändert</translation>
    </message>
    <message>
      <source> of about {total}</source>
      <translation> von etwa {total}</translation>
    </message>
    <message>
      <source> of {total}</source>
      <translation> von {total}</translation>
    </message>
    <message>
      <source> or </source>
      <translation> oder </translation>
    </message>
    <message>
      <source> or more</source>
      <translation> oder mehr</translation>
    </message>
    <message>
      <source> over {now}.</source>
      <translation> über {now}.</translation>
    </message>
    <message>
      <source> up to {v}</source>
      <translation> bis {v}</translation>
    </message>
    <message>
      <source> was [{path_a}]</source>
      <translation> war [{path_a}]</translation>
    </message>
    <message>
      <source> {fields} to decide.</source>
      <translation> Noch zu entscheiden: {fields}.</translation>
    </message>
    <message>
      <source> {kept} of your {choices} still {how}.</source>
      <translation> Von Ihren {choices} {how} noch {kept}.</translation>
    </message>
    <message>
      <source> {young} of them inside the grace period.</source>
      <translation> {young} davon in der Schonfrist.</translation>
    </message>
    <message>
      <source> · was {before}</source>
      <translation> · war {before}</translation>
    </message>
    <message>
      <source>&amp;Address</source>
      <translation>&amp;Adresse</translation>
    </message>
    <message>
      <source>&amp;Certificate</source>
      <translation>&amp;Zertifikat</translation>
    </message>
    <message>
      <source>&amp;Compare</source>
      <translation>&amp;Vergleich</translation>
    </message>
    <message>
      <source>&amp;Database</source>
      <translation>&amp;Datenbank</translation>
    </message>
    <message>
      <source>&amp;Document</source>
      <translation>Do&amp;kument</translation>
    </message>
    <message>
      <source>&amp;Edit</source>
      <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
      <source>&amp;Environment</source>
      <translation>&amp;Umgebung</translation>
    </message>
    <message>
      <source>&amp;File</source>
      <translation>&amp;Datei</translation>
    </message>
    <message>
      <source>&amp;Help</source>
      <translation>&amp;Hilfe</translation>
    </message>
    <message>
      <source>&amp;Host name</source>
      <translation>&amp;Hostname</translation>
    </message>
    <message>
      <source>&amp;Key password</source>
      <translation>Schlüssel&amp;passwort</translation>
    </message>
    <message>
      <source>&amp;Layout</source>
      <translation>&amp;Layout</translation>
    </message>
    <message>
      <source>&amp;Method</source>
      <translation>&amp;Methode</translation>
    </message>
    <message>
      <source>&amp;Name</source>
      <translation>&amp;Name</translation>
    </message>
    <message>
      <source>&amp;Password</source>
      <translation>&amp;Passwort</translation>
    </message>
    <message>
      <source>&amp;Principal</source>
      <translation>&amp;Principal</translation>
    </message>
    <message>
      <source>&amp;Realm</source>
      <translation>&amp;Realm</translation>
    </message>
    <message>
      <source>&amp;Repair</source>
      <translation>&amp;Reparatur</translation>
    </message>
    <message>
      <source>&amp;Resource</source>
      <translation>&amp;Ressource</translation>
    </message>
    <message>
      <source>&amp;Service</source>
      <translation>Diens&amp;t</translation>
    </message>
    <message>
      <source>&amp;Subject</source>
      <translation>Inh&amp;aber</translation>
    </message>
    <message>
      <source>&amp;User</source>
      <translation>&amp;Benutzer</translation>
    </message>
    <message>
      <source>&amp;User or client</source>
      <translation>&amp;Benutzer oder Client</translation>
    </message>
    <message>
      <source>&amp;View</source>
      <translation>&amp;Ansicht</translation>
    </message>
    <message>
      <source>&amp;Where</source>
      <translation>&amp;Wo</translation>
    </message>
    <message>
      <source>, added again since</source>
      <translation>, seitdem wieder hinzugefügt</translation>
    </message>
    <message>
      <source>, chosen as {role}</source>
      <translation>, gewählt als {role}</translation>
    </message>
    <message>
      <source>, from {base}</source>
      <translation>, aus {base}</translation>
    </message>
    <message>
      <source>, its draft</source>
      <translation>, ihr Entwurf</translation>
    </message>
    <message>
      <source>, not in the current version</source>
      <translation>, nicht in der aktuellen Version</translation>
    </message>
    <message>
      <source>, picture of {width} × {height}</source>
      <translation>, Bild mit {width} × {height}</translation>
    </message>
    <message>
      <source>, read-only</source>
      <translation>, schreibgeschützt</translation>
    </message>
    <message>
      <source>, which is marked as production</source>
      <translation>, als Produktion gekennzeichnet,</translation>
    </message>
    <message>
      <source>, written by {writer}</source>
      <translation>, geschrieben von {writer}</translation>
    </message>
    <message>
      <source>, {above} above the current one</source>
      <translation>, {above} über der aktuellen</translation>
    </message>
    <message>
      <source>, {counts} are there already</source>
      <translation>, {counts} sind schon da</translation>
    </message>
    <message>
      <source>, {documents} cannot be held and stay</source>
      <translation>, nicht aufnehmbar und geblieben: {documents}</translation>
    </message>
    <message>
      <source>, {kept} stay</source>
      <translation>, {kept} bleiben</translation>
    </message>
    <message>
      <source>, {left} cannot be held and would stay</source>
      <translation>, {left} lassen sich nicht aufnehmen und blieben</translation>
    </message>
    <message>
      <source>, {missing} missing</source>
      <translation>, {missing} fehlen</translation>
    </message>
    <message>
      <source>, {versions} kept</source>
      <translation>, {versions} vorhanden</translation>
    </message>
    <message>
      <source>// {name}: {bytes}, open it to read it</source>
      <translation>// {name}: {bytes}, zum Lesen öffnen</translation>
    </message>
    <message>
      <source>1 in a new token</source>
      <translation>1, in einem neuen Token</translation>
    </message>
    <message>
      <source>1 of them is</source>
      <translation>1 davon ist</translation>
    </message>
    <message>
      <source>20</source>
      <translation>20</translation>
    </message>
    <message>
      <source>2026-11-20 14:30</source>
      <translation>2026-11-20 14:30</translation>
    </message>
    <message>
      <source>30 days ago</source>
      <translation>Vor 30 Tagen</translation>
    </message>
    <message>
      <source>30d</source>
      <translation>30d</translation>
    </message>
    <message>
      <source>: {seen} so far</source>
      <translation>: {seen} bisher</translation>
    </message>
    <message>
      <source>; whether {unknown} arrived is not known</source>
      <translation>; ob {unknown} ankam, ist nicht bekannt</translation>
    </message>
    <message>
      <source>; {name} still states all else</source>
      <translation>; alles andere gibt weiterhin {name} an</translation>
    </message>
    <message>
      <source>; {wrong} are not: {wrong2}</source>
      <translation>; {wrong} sind es nicht: {wrong2}</translation>
    </message>
    <message>
      <source>A clock ran backwards</source>
      <translation>Eine Uhr ging rückwärts</translation>
    </message>
    <message>
      <source>A colleague has just changed {name}.{now} If you save an edit begun before, it meets a conflict</source>
      <translation>Ein Kollege hat gerade {name} geändert.{now} Speichern Sie eine früher begonnene Bearbeitung, gibt es einen Konflikt</translation>
    </message>
    <message>
      <source>A collection that is not there yet gets the layout of the exported one.</source>
      <translation>Eine Sammlung, die es noch nicht gibt, bekommt das Layout der exportierten.</translation>
    </message>
    <message>
      <source>A commit for each version, with its time, author and reason</source>
      <translation>Ein Commit für jede Version, mit Zeit, Autor und Grund</translation>
    </message>
    <message>
      <source>A date, with a time or without, or an age such as 36h.</source>
      <translation>Ein Datum, mit oder ohne Uhrzeit, oder ein Alter wie 36h.</translation>
    </message>
    <message>
      <source>A dry run says for each document how copying would end, and writes nothing.</source>
      <translation>Ein Probelauf sagt für jedes Dokument, wie das Kopieren enden würde, und schreibt nichts.</translation>
    </message>
    <message>
      <source>A dump is never written to. In memory edits can be tried; they are thrown away with the window.</source>
      <translation>In einen Dump wird nie geschrieben. Im Speicher lassen sich Bearbeitungen ausprobieren; sie verschwinden mit dem Fenster.</translation>
    </message>
    <message>
      <source>A dump is opened read-only; open it into memory to try edits</source>
      <translation>Ein Dump wird schreibgeschützt geöffnet; laden Sie ihn zum Ausprobieren in den Speicher</translation>
    </message>
    <message>
      <source>A dump's folder, into memory to try edits…</source>
      <translation>Ordner eines Dumps, zum Ausprobieren in den Speicher…</translation>
    </message>
    <message>
      <source>A dump's folder…</source>
      <translation>Ordner eines Dumps…</translation>
    </message>
    <message>
      <source>A file for each version</source>
      <translation>Eine Datei für jede Version</translation>
    </message>
    <message>
      <source>A file of BSON or Extended JSON…</source>
      <translation>Datei mit BSON oder Extended JSON…</translation>
    </message>
    <message>
      <source>A file, into memory to try edits…</source>
      <translation>Datei, zum Ausprobieren in den Speicher…</translation>
    </message>
    <message>
      <source>A filter, such as { status: 'open' }; compared is what matches on either side</source>
      <translation>Ein Filter wie { status: 'open' }; verglichen wird, was auf einer der beiden Seiten passt</translation>
    </message>
    <message>
      <source>A first tour, in five minutes</source>
      <translation>Ein erster Rundgang, in fünf Minuten</translation>
    </message>
    <message>
      <source>A has no version number.</source>
      <translation>A hat keine Versionsnummer.</translation>
    </message>
    <message>
      <source>A is not an earlier version to restore from</source>
      <translation>A ist keine frühere Version, aus der man wiederherstellen kann</translation>
    </message>
    <message>
      <source>A is the current version; choose an earlier one.</source>
      <translation>A ist die aktuelle Version; wählen Sie eine frühere.</translation>
    </message>
    <message>
      <source>A is the old version. Restore a single field from its menu in the comparison, or more with Restore from A…; Undo brings back what was.</source>
      <translation>A ist die alte Version. Stellen Sie ein einzelnes Feld über sein Menü im Vergleich wieder her, oder mehr mit „Aus A wiederherstellen…“; Rückgängig bringt den Stand davor zurück.</translation>
    </message>
    <message>
      <source>A menu, by its first letter</source>
      <translation>Ein Menü, über seinen Buchstaben</translation>
    </message>
    <message>
      <source>A name for it</source>
      <translation>Ein Name dafür</translation>
    </message>
    <message>
      <source>A page (*.html);;JSON (*.json)</source>
      <translation>Eine Seite (*.html);;JSON (*.json)</translation>
    </message>
    <message>
      <source>A page to print or to send: who changed what and why, gaps, hashes</source>
      <translation>Eine Seite zum Drucken oder Verschicken: wer was warum geändert hat, Lücken, Hashes</translation>
    </message>
    <message>
      <source>A plan of {made}, from {name}.</source>
      <translation>Ein Plan vom {made}, aus {name}.</translation>
    </message>
    <message>
      <source>A preview needs documents to read.</source>
      <translation>Eine Vorschau braucht Dokumente zum Lesen.</translation>
    </message>
    <message>
      <source>A save is under way</source>
      <translation>Es wird gerade gespeichert</translation>
    </message>
    <message>
      <source>A says that the document is deleted; choose a version before it.</source>
      <translation>A besagt, dass das Dokument gelöscht ist; wählen Sie eine Version davor.</translation>
    </message>
    <message>
      <source>A scan reads every document there once, archives too, and writes nothing. Your choice is remembered for this server.</source>
      <translation>Ein Prüflauf liest dort jedes Dokument einmal, auch Archive, und schreibt nichts. Ihre Wahl wird für diesen Server gemerkt.</translation>
    </message>
    <message>
      <source>A text this long is slow to type in. The tree reads it piece by piece.</source>
      <translation>In einem so langen Text tippt es sich langsam. Der Baum liest ihn Stück für Stück.</translation>
    </message>
    <message>
      <source>A time without a zone is taken in {zone}, as in the settings.</source>
      <translation>Eine Zeit ohne Zone gilt in {zone}, wie in den Einstellungen.</translation>
    </message>
    <message>
      <source>A token is noted, then counted: the same one again counts nothing more. A missing document is made.</source>
      <translation>Ein Token wird vermerkt, dann gezählt: Dasselbe noch einmal zählt nicht weiter. Ein fehlendes Dokument wird angelegt.</translation>
    </message>
    <message>
      <source>A version is missing</source>
      <translation>Eine Version fehlt</translation>
    </message>
    <message>
      <source>A week ago</source>
      <translation>Vor einer Woche</translation>
    </message>
    <message>
      <source>About</source>
      <translation>Umfang</translation>
    </message>
    <message>
      <source>About Palimpsest</source>
      <translation>Über Palimpsest</translation>
    </message>
    <message>
      <source>Above the current version</source>
      <translation>Über der aktuellen Version</translation>
    </message>
    <message>
      <source>Accept a certificate for another host name (unsafe)</source>
      <translation>Zertifikat eines anderen Hostnamens annehmen (unsicher)</translation>
    </message>
    <message>
      <source>Access &amp;key</source>
      <translation>Zugriffssch&amp;lüssel</translation>
    </message>
    <message>
      <source>Activity</source>
      <translation>Aktivität</translation>
    </message>
    <message>
      <source>Activity in this collection</source>
      <translation>Aktivität in dieser Sammlung</translation>
    </message>
    <message>
      <source>Activity of this document</source>
      <translation>Aktivität dieses Dokuments</translation>
    </message>
    <message>
      <source>Activity of {name}</source>
      <translation>Aktivität von {name}</translation>
    </message>
    <message>
      <source>Activity: {what}</source>
      <translation>Aktivität: {what}</translation>
    </message>
    <message>
      <source>Activity…</source>
      <translation>Aktivität…</translation>
    </message>
    <message>
      <source>Add</source>
      <translation>Hinzufügen</translation>
    </message>
    <message>
      <source>Add a field beside the chosen one (Ins)</source>
      <translation>Ein Feld neben dem gewählten hinzufügen (Einfg)</translation>
    </message>
    <message>
      <source>Add element behind</source>
      <translation>Element dahinter hinzufügen</translation>
    </message>
    <message>
      <source>Add element inside</source>
      <translation>Element darin hinzufügen</translation>
    </message>
    <message>
      <source>Add field</source>
      <translation>Feld hinzufügen</translation>
    </message>
    <message>
      <source>Add field inside</source>
      <translation>Feld darin hinzufügen</translation>
    </message>
    <message>
      <source>Add to this list</source>
      <translation>Zu dieser Liste hinzufügen</translation>
    </message>
    <message>
      <source>Add, remove a field</source>
      <translation>Feld hinzufügen, entfernen</translation>
    </message>
    <message>
      <source>Address</source>
      <translation>Adresse</translation>
    </message>
    <message>
      <source>Address of a server</source>
      <translation>Adresse eines Servers</translation>
    </message>
    <message>
      <source>After</source>
      <translation>Nachher</translation>
    </message>
    <message>
      <source>Afterwards</source>
      <translation>Danach</translation>
    </message>
    <message>
      <source>Age</source>
      <translation>Alter</translation>
    </message>
    <message>
      <source>Age not known: left out</source>
      <translation>Alter nicht bekannt: ausgelassen</translation>
    </message>
    <message>
      <source>Age, as in 24h or 7 days</source>
      <translation>Alter, etwa 24h oder 7 days</translation>
    </message>
    <message>
      <source>All changes</source>
      <translation>Alle Änderungen</translation>
    </message>
    <message>
      <source>All checks</source>
      <translation>Alle Prüfungen</translation>
    </message>
    <message>
      <source>All collections</source>
      <translation>Alle Sammlungen</translation>
    </message>
    <message>
      <source>All databases</source>
      <translation>Alle Datenbanken</translation>
    </message>
    <message>
      <source>All days</source>
      <translation>Alle Tage</translation>
    </message>
    <message>
      <source>All documents are proven.</source>
      <translation>Alle Dokumente sind belegt.</translation>
    </message>
    <message>
      <source>All fields</source>
      <translation>Alle Felder</translation>
    </message>
    <message>
      <source>All resolved</source>
      <translation>Alles gelöst</translation>
    </message>
    <message>
      <source>All sources</source>
      <translation>Alle Quellen</translation>
    </message>
    <message>
      <source>All states</source>
      <translation>Alle Zustände</translation>
    </message>
    <message>
      <source>All tokens</source>
      <translation>Alle Token</translation>
    </message>
    <message>
      <source>All versions stay</source>
      <translation>Alle Versionen bleiben</translation>
    </message>
    <message>
      <source>Allow editing</source>
      <translation>Bearbeiten erlauben</translation>
    </message>
    <message>
      <source>Allow editing on {name}?</source>
      <translation>Bearbeiten auf {name} erlauben?</translation>
    </message>
    <message>
      <source>Allow editing…</source>
      <translation>Bearbeiten erlauben…</translation>
    </message>
    <message>
      <source>Allow writes</source>
      <translation>Schreiben erlauben</translation>
    </message>
    <message>
      <source>Allow writes to {name}?</source>
      <translation>Schreiben nach {name} erlauben?</translation>
    </message>
    <message>
      <source>Also what was written to other sources than {name}</source>
      <translation>Auch, was in andere Quellen als {name} geschrieben wurde</translation>
    </message>
    <message>
      <source>Alt+Backspace</source>
      <translation>Alt+Rücktaste</translation>
    </message>
    <message>
      <source>Alt+F, Alt+E …</source>
      <translation>Alt+D, Alt+B …</translation>
    </message>
    <message>
      <source>Alt+Left</source>
      <translation>Alt+Links</translation>
    </message>
    <message>
      <source>Alt+Left, Alt+Right</source>
      <translation>Alt+Links, Alt+Rechts</translation>
    </message>
    <message>
      <source>Alt+Right</source>
      <translation>Alt+Rechts</translation>
    </message>
    <message>
      <source>Alt+Right, Alt+Left</source>
      <translation>Alt+Rechts, Alt+Links</translation>
    </message>
    <message>
      <source>Alt+Up, Alt+Down</source>
      <translation>Alt+Auf, Alt+Ab</translation>
    </message>
    <message>
      <source>Amount</source>
      <translation>Betrag</translation>
    </message>
    <message>
      <source>An address begins with mongodb:// or mongodb+srv://.</source>
      <translation>Eine Adresse beginnt mit mongodb:// oder mongodb+srv://.</translation>
    </message>
    <message>
      <source>An archive is written by saving the current document only</source>
      <translation>Ein Archiv wird nur geschrieben, indem das aktuelle Dokument gespeichert wird</translation>
    </message>
    <message>
      <source>An edit that you do not save at once is kept here.</source>
      <translation>Eine Bearbeitung, die Sie nicht gleich speichern, bleibt hier aufbewahrt.</translation>
    </message>
    <message>
      <source>An hour ago</source>
      <translation>Vor einer Stunde</translation>
    </message>
    <message>
      <source>Another dry run shows what would be written.</source>
      <translation>Ein weiterer Probelauf zeigt, was geschrieben würde.</translation>
    </message>
    <message>
      <source>Another order…</source>
      <translation>Andere Sortierung…</translation>
    </message>
    <message>
      <source>Another program wrote it.</source>
      <translation>Ein anderes Programm hat es geschrieben.</translation>
    </message>
    <message>
      <source>Another time…</source>
      <translation>Andere Zeit…</translation>
    </message>
    <message>
      <source>Answer</source>
      <translation>Antworten</translation>
    </message>
    <message>
      <source>Any version</source>
      <translation>Jede Version</translation>
    </message>
    <message>
      <source>Applied</source>
      <translation>Erfolgt</translation>
    </message>
    <message>
      <source>Apr</source>
      <translation>Apr.</translation>
    </message>
    <message>
      <source>Arrow keys move the cell; Home and End go to the first and last change of a field; Enter compares</source>
      <translation>Pfeiltasten bewegen die Zelle; Pos1 und Ende gehen zur ersten und letzten Änderung eines Feldes; die Eingabetaste vergleicht</translation>
    </message>
    <message>
      <source>As in the document</source>
      <translation>Wie im Dokument</translation>
    </message>
    <message>
      <source>As in {was}</source>
      <translation>Wie in {was}</translation>
    </message>
    <message>
      <source>As it stood on {moment} ({zone}), to be read only.</source>
      <translation>Wie es am {moment} stand ({zone}), nur zum Lesen.</translation>
    </message>
    <message>
      <source>As it stood on {moment}.</source>
      <translation>Stand vom {moment}.</translation>
    </message>
    <message>
      <source>As it was from the start</source>
      <translation>Wie es von Anfang an war</translation>
    </message>
    <message>
      <source>As it was since</source>
      <translation>So seit</translation>
    </message>
    <message>
      <source>As of a time</source>
      <translation>Stand zu einer Zeit</translation>
    </message>
    <message>
      <source>As of a time, two times, deleted documents</source>
      <translation>Stand zu einer Zeit, zwei Zeiten, gelöschte Dokumente</translation>
    </message>
    <message>
      <source>As of a time…</source>
      <translation>Stand zu einer Zeit…</translation>
    </message>
    <message>
      <source>As of {as_of}. {sentence}</source>
      <translation>Stand {as_of}. {sentence}</translation>
    </message>
    <message>
      <source>As the server prefers</source>
      <translation>Wie der Server es vorzieht</translation>
    </message>
    <message>
      <source>As the system</source>
      <translation>Wie im System</translation>
    </message>
    <message>
      <source>As the system ({zone})</source>
      <translation>Wie im System ({zone})</translation>
    </message>
    <message>
      <source>As you opened it</source>
      <translation>Wie Sie es öffneten</translation>
    </message>
    <message>
      <source>Asking the keyring for {name}</source>
      <translation>Der Schlüsselbund wird nach {name} gefragt</translation>
    </message>
    <message>
      <source>Asking the server how it answers this query</source>
      <translation>Der Server wird gefragt, wie er diese Abfrage beantwortet</translation>
    </message>
    <message>
      <source>Aug</source>
      <translation>Aug.</translation>
    </message>
    <message>
      <source>Author</source>
      <translation>Autor</translation>
    </message>
    <message>
      <source>Author not known</source>
      <translation>Autor unbekannt</translation>
    </message>
    <message>
      <source>Author, the whole name</source>
      <translation>Autor, der ganze Name</translation>
    </message>
    <message>
      <source>Authorit&amp;y</source>
      <translation>Z&amp;ertifizierungsstelle</translation>
    </message>
    <message>
      <source>BSON, as mongodump writes it (*.bson)</source>
      <translation>BSON, wie mongodump es schreibt (*.bson)</translation>
    </message>
    <message>
      <source>Back (Alt+Left)</source>
      <translation>Zurück (Alt+Links)</translation>
    </message>
    <message>
      <source>Back to now</source>
      <translation>Zurück zu jetzt</translation>
    </message>
    <message>
      <source>Back to the tabs (Esc)</source>
      <translation>Zurück zu den Tabs (Esc)</translation>
    </message>
    <message>
      <source>Back to {name}</source>
      <translation>Zurück zu {name}</translation>
    </message>
    <message>
      <source>Back, forward</source>
      <translation>Zurück, vorwärts</translation>
    </message>
    <message>
      <source>Before</source>
      <translation>Vorher</translation>
    </message>
    <message>
      <source>Before that </source>
      <translation>Davor </translation>
    </message>
    <message>
      <source>Before: {value}</source>
      <translation>Vorher: {value}</translation>
    </message>
    <message>
      <source>Beyond that, keep the newest of each day</source>
      <translation>Darüber hinaus die neueste jedes Tages behalten</translation>
    </message>
    <message>
      <source>Binary, subtype {data}</source>
      <translation>Binary, Untertyp {data}</translation>
    </message>
    <message>
      <source>Blame</source>
      <translation>Herkunft</translation>
    </message>
    <message>
      <source>Both</source>
      <translation>Beide</translation>
    </message>
    <message>
      <source>Both are the same time; choose another one.</source>
      <translation>Beide sind dieselbe Zeit; wählen Sie eine andere.</translation>
    </message>
    <message>
      <source>Both changed</source>
      <translation>Beide geändert</translation>
    </message>
    <message>
      <source>Both hold the same content. {note}</source>
      <translation>Beide haben denselben Inhalt. {note}</translation>
    </message>
    <message>
      <source>Both values in one column</source>
      <translation>Beide Werte in einer Spalte</translation>
    </message>
    <message>
      <source>Both values in one column (Ctrl+I)</source>
      <translation>Beide Werte in einer Spalte (Strg+I)</translation>
    </message>
    <message>
      <source>Both, the same</source>
      <translation>Beide, gleich</translation>
    </message>
    <message>
      <source>Both, the same change</source>
      <translation>Beide, dieselbe Änderung</translation>
    </message>
    <message>
      <source>Both: they fit together</source>
      <translation>Beide: Sie passen zusammen</translation>
    </message>
    <message>
      <source>Build</source>
      <translation>Build</translation>
    </message>
    <message>
      <source>By</source>
      <translation>Von</translation>
    </message>
    <message>
      <source>By class, and the change since the scan before</source>
      <translation>Nach Klasse, mit der Änderung seit dem Prüflauf davor</translation>
    </message>
    <message>
      <source>By this rule all versions stay</source>
      <translation>Nach dieser Regel bleiben alle Versionen</translation>
    </message>
    <message>
      <source>By time</source>
      <translation>Nach Zeit</translation>
    </message>
    <message>
      <source>By version</source>
      <translation>Nach Version</translation>
    </message>
    <message>
      <source>CSV with the type of each column (*.csv)</source>
      <translation>CSV mit dem Typ jeder Spalte (*.csv)</translation>
    </message>
    <message>
      <source>Can be finished</source>
      <translation>Abschließbar</translation>
    </message>
    <message>
      <source>Can be taken back</source>
      <translation>Lässt sich zurücknehmen</translation>
    </message>
    <message>
      <source>Cancel</source>
      <translation>Abbrechen</translation>
    </message>
    <message>
      <source>Cannot be changed</source>
      <translation>Kann nicht geändert werden</translation>
    </message>
    <message>
      <source>Cannot be copied</source>
      <translation>Kann nicht kopiert werden</translation>
    </message>
    <message>
      <source>Cannot be removed</source>
      <translation>Kann nicht entfernt werden</translation>
    </message>
    <message>
      <source>Cannot be taken back</source>
      <translation>Lässt sich nicht zurücknehmen</translation>
    </message>
    <message>
      <source>Canonical</source>
      <translation>Kanonisch</translation>
    </message>
    <message>
      <source>Canonical host name</source>
      <translation>Kanonischer Hostname</translation>
    </message>
    <message>
      <source>Certificate authority file</source>
      <translation>Datei der Zertifizierungsstelle</translation>
    </message>
    <message>
      <source>Certificates (*.json)</source>
      <translation>Bescheinigungen (*.json)</translation>
    </message>
    <message>
      <source>Change</source>
      <translation>Ändern</translation>
    </message>
    <message>
      <source>Change documents</source>
      <translation>Dokumente ändern</translation>
    </message>
    <message>
      <source>Change map</source>
      <translation>Änderungskarte</translation>
    </message>
    <message>
      <source>Change map: fields down, versions across</source>
      <translation>Änderungskarte: Felder nach unten, Versionen nach rechts</translation>
    </message>
    <message>
      <source>Change several documents…</source>
      <translation>Mehrere Dokumente ändern…</translation>
    </message>
    <message>
      <source>Change the value, the name</source>
      <translation>Wert, Namen ändern</translation>
    </message>
    <message>
      <source>Change type…</source>
      <translation>Typ ändern…</translation>
    </message>
    <message>
      <source>Change {documents}</source>
      <translation>{documents} ändern</translation>
    </message>
    <message>
      <source>Change {documents}…</source>
      <translation>{documents} ändern…</translation>
    </message>
    <message>
      <source>Change {number:,} of {total:,}</source>
      <translation>Änderung {number:,} von {total:,}</translation>
    </message>
    <message>
      <source>Changed</source>
      <translation>Geändert</translation>
    </message>
    <message>
      <source>Changed by {author}</source>
      <translation>Geändert von {author}</translation>
    </message>
    <message>
      <source>Changed in the database</source>
      <translation>In der Datenbank geändert</translation>
    </message>
    <message>
      <source>Changed later: decide by hand</source>
      <translation>Später geändert: von Hand entscheiden</translation>
    </message>
    <message>
      <source>Changed meanwhile</source>
      <translation>Inzwischen geändert</translation>
    </message>
    <message>
      <source>Changed on</source>
      <translation>Geändert am</translation>
    </message>
    <message>
      <source>Changed {documents}</source>
      <translation>{documents} geändert</translation>
    </message>
    <message>
      <source>Changes</source>
      <translation>Änderungen</translation>
    </message>
    <message>
      <source>Changes on each day, oldest first</source>
      <translation>Änderungen an jedem Tag, älteste zuerst</translation>
    </message>
    <message>
      <source>Changes to be taken back in {ns} of {name}</source>
      <translation>Zurückzunehmende Änderungen in {ns} von {name}</translation>
    </message>
    <message>
      <source>Changes, newest first</source>
      <translation>Änderungen, neueste zuerst</translation>
    </message>
    <message>
      <source>Changing documents</source>
      <translation>Dokumente werden geändert</translation>
    </message>
    <message>
      <source>Check again</source>
      <translation>Erneut prüfen</translation>
    </message>
    <message>
      <source>Check this server…</source>
      <translation>Diesen Server prüfen…</translation>
    </message>
    <message>
      <source>Checking</source>
      <translation>Wird geprüft</translation>
    </message>
    <message>
      <source>Checking the watched conditions of {id}</source>
      <translation>Die überwachten Bedingungen von {id} werden geprüft</translation>
    </message>
    <message>
      <source>Choose a class at the left. Every item shows what its repair would write, and each can be taken back.</source>
      <translation>Wählen Sie links eine Klasse. Jeder Posten zeigt, was seine Reparatur schreiben würde, und jede lässt sich zurücknehmen.</translation>
    </message>
    <message>
      <source>Choose a row above.</source>
      <translation>Wählen Sie oben eine Zeile.</translation>
    </message>
    <message>
      <source>Choose another document for {letter}…</source>
      <translation>Ein anderes Dokument für {letter} wählen…</translation>
    </message>
    <message>
      <source>Choose another file.</source>
      <translation>Wählen Sie eine andere Datei.</translation>
    </message>
    <message>
      <source>Choose one</source>
      <translation>Bitte wählen</translation>
    </message>
    <message>
      <source>Choose one at the left at any time.</source>
      <translation>Wählen Sie links jederzeit eine.</translation>
    </message>
    <message>
      <source>Choose one at the left, or find it by its name.</source>
      <translation>Wählen Sie links eine oder suchen Sie sie nach ihrem Namen.</translation>
    </message>
    <message>
      <source>Choose several</source>
      <translation>Mehrere wählen</translation>
    </message>
    <message>
      <source>Choose the authority's file</source>
      <translation>Datei der Zertifizierungsstelle wählen</translation>
    </message>
    <message>
      <source>Choose the client certificate</source>
      <translation>Client-Zertifikat wählen</translation>
    </message>
    <message>
      <source>Choose the profile that states its layouts</source>
      <translation>Das Profil wählen, das die Layouts beschreibt</translation>
    </message>
    <message>
      <source>Choose the type</source>
      <translation>Typ wählen</translation>
    </message>
    <message>
      <source>Choose the version that set the field first.</source>
      <translation>Wählen Sie zuerst die Version, die das Feld gesetzt hat.</translation>
    </message>
    <message>
      <source>Choose…</source>
      <translation>Wählen…</translation>
    </message>
    <message>
      <source>Class</source>
      <translation>Klasse</translation>
    </message>
    <message>
      <source>Clear</source>
      <translation>Leeren</translation>
    </message>
    <message>
      <source>Clear the filter</source>
      <translation>Filter leeren</translation>
    </message>
    <message>
      <source>Click the badge to see the grounds, or to state another layout</source>
      <translation>Klicken Sie auf die Marke, um die Gründe zu sehen oder ein anderes Layout anzugeben</translation>
    </message>
    <message>
      <source>Client certificate and key file</source>
      <translation>Datei mit Client-Zertifikat und Schlüssel</translation>
    </message>
    <message>
      <source>Close</source>
      <translation>Schließen</translation>
    </message>
    <message>
      <source>Close (Esc)</source>
      <translation>Schließen (Esc)</translation>
    </message>
    <message>
      <source>Close and keep the draft</source>
      <translation>Schließen und den Entwurf behalten</translation>
    </message>
    <message>
      <source>Close and keep the drafts</source>
      <translation>Schließen, Entwürfe behalten</translation>
    </message>
    <message>
      <source>Close tab</source>
      <translation>Tab schließen</translation>
    </message>
    <message>
      <source>Close the value</source>
      <translation>Den Wert schließen</translation>
    </message>
    <message>
      <source>Close the window?</source>
      <translation>Fenster schließen?</translation>
    </message>
    <message>
      <source>Close this message</source>
      <translation>Diese Meldung schließen</translation>
    </message>
    <message>
      <source>Close what is on top</source>
      <translation>Das Oberste schließen</translation>
    </message>
    <message>
      <source>Close window</source>
      <translation>Fenster schließen</translation>
    </message>
    <message>
      <source>Close; the menu Help opens them again</source>
      <translation>Schließen; das Menü Hilfe öffnet sie wieder</translation>
    </message>
    <message>
      <source>Collapse all</source>
      <translation>Alles zuklappen</translation>
    </message>
    <message>
      <source>Collection</source>
      <translation>Sammlung</translation>
    </message>
    <message>
      <source>Colours</source>
      <translation>Farben</translation>
    </message>
    <message>
      <source>Colours as the system says</source>
      <translation>Farben wie im System</translation>
    </message>
    <message>
      <source>Columns</source>
      <translation>Spalten</translation>
    </message>
    <message>
      <source>Columns: {names}</source>
      <translation>Spalten: {names}</translation>
    </message>
    <message>
      <source>Columns…</source>
      <translation>Spalten…</translation>
    </message>
    <message>
      <source>Compact</source>
      <translation>Kompakt</translation>
    </message>
    <message>
      <source>Compare</source>
      <translation>Vergleichen</translation>
    </message>
    <message>
      <source>Compare again</source>
      <translation>Erneut vergleichen</translation>
    </message>
    <message>
      <source>Compare the two</source>
      <translation>Die zwei vergleichen</translation>
    </message>
    <message>
      <source>Compare the two picked documents</source>
      <translation>Die zwei gewählten Dokumente vergleichen</translation>
    </message>
    <message>
      <source>Compare two times…</source>
      <translation>Zwei Zeiten vergleichen…</translation>
    </message>
    <message>
      <source>Compare two versions</source>
      <translation>Zwei Versionen vergleichen</translation>
    </message>
    <message>
      <source>Compare with another collection…</source>
      <translation>Mit einer anderen Sammlung vergleichen…</translation>
    </message>
    <message>
      <source>Compare with another document…</source>
      <translation>Mit einem anderen Dokument vergleichen…</translation>
    </message>
    <message>
      <source>Compare with current</source>
      <translation>Mit der aktuellen vergleichen</translation>
    </message>
    <message>
      <source>Compare with the version before</source>
      <translation>Mit der Version davor vergleichen</translation>
    </message>
    <message>
      <source>Compare with what is in the database (Ctrl+D)</source>
      <translation>Mit dem Stand der Datenbank vergleichen (Strg+D)</translation>
    </message>
    <message>
      <source>Compare with what is remembered</source>
      <translation>Mit dem Gemerkten vergleichen</translation>
    </message>
    <message>
      <source>Compare with {name} of {place}</source>
      <translation>Mit {name} von {place} vergleichen</translation>
    </message>
    <message>
      <source>Compare {model} and {model2}</source>
      <translation>{model} und {model2} vergleichen</translation>
    </message>
    <message>
      <source>Compare {names}</source>
      <translation>{names} vergleichen</translation>
    </message>
    <message>
      <source>Compare {name} with another document</source>
      <translation>{name} mit einem anderen Dokument vergleichen</translation>
    </message>
    <message>
      <source>Compare {older} and {newer}</source>
      <translation>{older} und {newer} vergleichen</translation>
    </message>
    <message>
      <source>Compared where {filter} matches on either side.</source>
      <translation>Verglichen, wo {filter} auf einer der beiden Seiten passt.</translation>
    </message>
    <message>
      <source>Comparing</source>
      <translation>Wird verglichen</translation>
    </message>
    <message>
      <source>Comparing versions</source>
      <translation>Versionen werden verglichen</translation>
    </message>
    <message>
      <source>Comparing {a} with {b}</source>
      <translation>{a} wird mit {b} verglichen</translation>
    </message>
    <message>
      <source>Comparing {ns}</source>
      <translation>{ns} wird verglichen</translation>
    </message>
    <message>
      <source>Comparing {ns} at two times</source>
      <translation>{ns} wird zu zwei Zeiten verglichen</translation>
    </message>
    <message>
      <source>Comparing {ns} with {ns2}</source>
      <translation>{ns} wird mit {ns2} verglichen</translation>
    </message>
    <message>
      <source>Condition</source>
      <translation>Bedingung</translation>
    </message>
    <message>
      <source>Condition, for example { "status": "active" }</source>
      <translation>Bedingung, zum Beispiel { "status": "active" }</translation>
    </message>
    <message>
      <source>Conflict</source>
      <translation>Konflikt</translation>
    </message>
    <message>
      <source>Conflict {row} of {asked}</source>
      <translation>Konflikt {row} von {asked}</translation>
    </message>
    <message>
      <source>Connect</source>
      <translation>Verbinden</translation>
    </message>
    <message>
      <source>Connecting to</source>
      <translation>Wird verbunden:</translation>
    </message>
    <message>
      <source>Connecting to {title}</source>
      <translation>Verbindung mit {title} wird hergestellt</translation>
    </message>
    <message>
      <source>Connection</source>
      <translation>Verbindung</translation>
    </message>
    <message>
      <source>Connections</source>
      <translation>Verbindungen</translation>
    </message>
    <message>
      <source>Connections and collections</source>
      <translation>Verbindungen und Sammlungen</translation>
    </message>
    <message>
      <source>Content as Extended JSON</source>
      <translation>Inhalt als Extended JSON</translation>
    </message>
    <message>
      <source>Content not proven</source>
      <translation>Inhalt nicht belegt</translation>
    </message>
    <message>
      <source>Content, as Extended JSON</source>
      <translation>Inhalt, als Extended JSON</translation>
    </message>
    <message>
      <source>Contrast</source>
      <translation>Kontrast</translation>
    </message>
    <message>
      <source>Copied</source>
      <translation>Kopiert</translation>
    </message>
    <message>
      <source>Copied as Extended JSON: {documents}</source>
      <translation>Als Extended JSON kopiert: {documents}</translation>
    </message>
    <message>
      <source>Copied the document as Extended JSON</source>
      <translation>Dokument als Extended JSON kopiert</translation>
    </message>
    <message>
      <source>Copied the path {name}</source>
      <translation>Pfad {name} kopiert</translation>
    </message>
    <message>
      <source>Copied the path {said}</source>
      <translation>Pfad {said} kopiert</translation>
    </message>
    <message>
      <source>Copied {documents}</source>
      <translation>{documents} kopiert</translation>
    </message>
    <message>
      <source>Copied {name}</source>
      <translation>{name} kopiert</translation>
    </message>
    <message>
      <source>Copy</source>
      <translation>Kopieren</translation>
    </message>
    <message>
      <source>Copy across</source>
      <translation>Hinüberkopieren</translation>
    </message>
    <message>
      <source>Copy and verify</source>
      <translation>Kopieren und vergleichen</translation>
    </message>
    <message>
      <source>Copy as Extended JSON</source>
      <translation>Als Extended JSON kopieren</translation>
    </message>
    <message>
      <source>Copy as JSON</source>
      <translation>Als JSON kopieren</translation>
    </message>
    <message>
      <source>Copy as PyMongo</source>
      <translation>Als PyMongo kopieren</translation>
    </message>
    <message>
      <source>Copy as mongosh</source>
      <translation>Als mongosh kopieren</translation>
    </message>
    <message>
      <source>Copy details</source>
      <translation>Details kopieren</translation>
    </message>
    <message>
      <source>Copy document as Extended JSON</source>
      <translation>Dokument als Extended JSON kopieren</translation>
    </message>
    <message>
      <source>Copy field as Extended JSON</source>
      <translation>Feld als Extended JSON kopieren</translation>
    </message>
    <message>
      <source>Copy hash</source>
      <translation>Hash kopieren</translation>
    </message>
    <message>
      <source>Copy path</source>
      <translation>Pfad kopieren</translation>
    </message>
    <message>
      <source>Copy report</source>
      <translation>Bericht kopieren</translation>
    </message>
    <message>
      <source>Copy the code</source>
      <translation>Den Code kopieren</translation>
    </message>
    <message>
      <source>Copy the command</source>
      <translation>Den Befehl kopieren</translation>
    </message>
    <message>
      <source>Copy the diff</source>
      <translation>Den Vergleich kopieren</translation>
    </message>
    <message>
      <source>Copy the diff as DeepDiff has it</source>
      <translation>Den Vergleich im Format von DeepDiff kopieren</translation>
    </message>
    <message>
      <source>Copy the diff as JSON Patch</source>
      <translation>Den Vergleich als JSON Patch kopieren</translation>
    </message>
    <message>
      <source>Copy the diff as JSON rows</source>
      <translation>Den Vergleich als JSON-Zeilen kopieren</translation>
    </message>
    <message>
      <source>Copy the diff as a DeepDiff Delta in Python</source>
      <translation>Den Vergleich als DeepDiff-Delta in Python kopieren</translation>
    </message>
    <message>
      <source>Copy the diff as text</source>
      <translation>Den Vergleich als Text kopieren</translation>
    </message>
    <message>
      <source>Copy the diff in words</source>
      <translation>Den Vergleich in Worten kopieren</translation>
    </message>
    <message>
      <source>Copy the document as Extended JSON</source>
      <translation>Das Dokument als Extended JSON kopieren</translation>
    </message>
    <message>
      <source>Copy the id</source>
      <translation>Die Id kopieren</translation>
    </message>
    <message>
      <source>Copy the ids</source>
      <translation>Die Ids kopieren</translation>
    </message>
    <message>
      <source>Copy the name</source>
      <translation>Den Namen kopieren</translation>
    </message>
    <message>
      <source>Copy the path</source>
      <translation>Den Pfad kopieren</translation>
    </message>
    <message>
      <source>Copy the picked documents</source>
      <translation>Die ausgewählten Dokumente kopieren</translation>
    </message>
    <message>
      <source>Copy the rows</source>
      <translation>Zeilen kopieren</translation>
    </message>
    <message>
      <source>Copy the value, or the path</source>
      <translation>Wert oder Pfad kopieren</translation>
    </message>
    <message>
      <source>Copy the values</source>
      <translation>Die Werte kopieren</translation>
    </message>
    <message>
      <source>Copy the write token</source>
      <translation>Das Schreib-Token kopieren</translation>
    </message>
    <message>
      <source>Copy this change</source>
      <translation>Diese Änderung kopieren</translation>
    </message>
    <message>
      <source>Copy value</source>
      <translation>Wert kopieren</translation>
    </message>
    <message>
      <source>Copy value as Extended JSON</source>
      <translation>Wert als Extended JSON kopieren</translation>
    </message>
    <message>
      <source>Copy value of A</source>
      <translation>Wert von A kopieren</translation>
    </message>
    <message>
      <source>Copy value of B</source>
      <translation>Wert von B kopieren</translation>
    </message>
    <message>
      <source>Copy {documents}</source>
      <translation>{documents} kopieren</translation>
    </message>
    <message>
      <source>Copy {documents} as Extended JSON</source>
      <translation>{documents} als Extended JSON kopieren</translation>
    </message>
    <message>
      <source>Copy {number}</source>
      <translation>{number} kopieren</translation>
    </message>
    <message>
      <source>Copy {what}</source>
      <translation>{what} kopieren</translation>
    </message>
    <message>
      <source>Copying</source>
      <translation>Wird kopiert</translation>
    </message>
    <message>
      <source>Copying documents</source>
      <translation>Dokumente werden kopiert</translation>
    </message>
    <message>
      <source>Copying {size}</source>
      <translation>{size} werden kopiert</translation>
    </message>
    <message>
      <source>Correct it above and run it again.</source>
      <translation>Berichtigen Sie sie oben und führen Sie sie erneut aus.</translation>
    </message>
    <message>
      <source>Correct, but not the smallest difference: finding that would take too long.</source>
      <translation>Richtig, aber nicht der kleinste Unterschied: Ihn zu finden, würde zu lange dauern.</translation>
    </message>
    <message>
      <source>Could not be read; see the message below</source>
      <translation>Nicht lesbar; siehe die Meldung unten</translation>
    </message>
    <message>
      <source>Count once</source>
      <translation>Einmal zählen</translation>
    </message>
    <message>
      <source>Count once in {ns}</source>
      <translation>Einmal zählen in {ns}</translation>
    </message>
    <message>
      <source>Count once…</source>
      <translation>Einmal zählen…</translation>
    </message>
    <message>
      <source>Counted already</source>
      <translation>Schon gezählt</translation>
    </message>
    <message>
      <source>Counted already: only taken out of the list</source>
      <translation>Schon gezählt: wird nur aus der Liste genommen</translation>
    </message>
    <message>
      <source>Counted since</source>
      <translation>Gezählt seit</translation>
    </message>
    <message>
      <source>Counter</source>
      <translation>Zähler</translation>
    </message>
    <message>
      <source>Counting</source>
      <translation>Wird gezählt</translation>
    </message>
    <message>
      <source>Counting {ns}</source>
      <translation>{ns} wird gezählt</translation>
    </message>
    <message>
      <source>Counting…</source>
      <translation>Wird gezählt…</translation>
    </message>
    <message>
      <source>Create again</source>
      <translation>Neu anlegen</translation>
    </message>
    <message>
      <source>Create again brings its versions back as they were read last, up to {last}, and saves your edit as the next.</source>
      <translation>„Neu anlegen“ bringt seine Versionen zurück, wie sie zuletzt gelesen wurden, bis {last}, und speichert Ihre Bearbeitung als die nächste.</translation>
    </message>
    <message>
      <source>Create again saves your edit as a new document with the same id and a new history.</source>
      <translation>„Neu anlegen“ speichert Ihre Bearbeitung als neues Dokument mit derselben Kennung, dessen Verlauf neu beginnt.</translation>
    </message>
    <message>
      <source>Create again saves your edit as a new document with the same id.</source>
      <translation>„Neu anlegen“ speichert Ihre Bearbeitung als neues Dokument mit derselben Kennung.</translation>
    </message>
    <message>
      <source>Create again saves your edit as the version after {last}; those before it stay.</source>
      <translation>„Neu anlegen“ speichert Ihre Bearbeitung als die Version nach {last}; die davor bleiben.</translation>
    </message>
    <message>
      <source>Create the index</source>
      <translation>Index anlegen</translation>
    </message>
    <message>
      <source>Create the index…</source>
      <translation>Index anlegen…</translation>
    </message>
    <message>
      <source>Create the unique index on {ns}?</source>
      <translation>Eindeutigen Index auf {ns} anlegen?</translation>
    </message>
    <message>
      <source>Create the unique index that writing needs…</source>
      <translation>Eindeutigen Index anlegen, den das Schreiben braucht…</translation>
    </message>
    <message>
      <source>Creating an index</source>
      <translation>Ein Index wird angelegt</translation>
    </message>
    <message>
      <source>Ctrl+B</source>
      <translation>Strg+B</translation>
    </message>
    <message>
      <source>Ctrl+C</source>
      <translation>Strg+C</translation>
    </message>
    <message>
      <source>Ctrl+Enter</source>
      <translation>Strg+Eingabe</translation>
    </message>
    <message>
      <source>Ctrl+Enter keeps what you typed, Esc discards it</source>
      <translation>Strg+Eingabe behält das Getippte, Esc verwirft es</translation>
    </message>
    <message>
      <source>Ctrl+F</source>
      <translation>Strg+F</translation>
    </message>
    <message>
      <source>Ctrl+L</source>
      <translation>Strg+L</translation>
    </message>
    <message>
      <source>Ctrl+Left, Ctrl+Right</source>
      <translation>Strg+Links, Strg+Rechts</translation>
    </message>
    <message>
      <source>Ctrl+PgUp and Ctrl+PgDown: previous and next conflict</source>
      <translation>Strg+Bild auf und Strg+Bild ab: voriger und nächster Konflikt</translation>
    </message>
    <message>
      <source>Ctrl+Shift+[, Ctrl+Shift+]</source>
      <translation>Strg+Umschalt+[, Strg+Umschalt+]</translation>
    </message>
    <message>
      <source>Ctrl+Space</source>
      <translation>Strg+Leertaste</translation>
    </message>
    <message>
      <source>Current</source>
      <translation>Aktuelle</translation>
    </message>
    <message>
      <source>Dark</source>
      <translation>Dunkel</translation>
    </message>
    <message>
      <source>Dark colours</source>
      <translation>Dunkle Farben</translation>
    </message>
    <message>
      <source>Database</source>
      <translation>Datenbank</translation>
    </message>
    <message>
      <source>Database to log in by</source>
      <translation>Datenbank für die Anmeldung</translation>
    </message>
    <message>
      <source>Database {now}</source>
      <translation>Datenbank {now}</translation>
    </message>
    <message>
      <source>Date</source>
      <translation>Datum</translation>
    </message>
    <message>
      <source>Dates are stored in UTC and shown in this zone.</source>
      <translation>Zeiten sind in UTC gespeichert und werden in dieser Zone angezeigt.</translation>
    </message>
    <message>
      <source>Dates exactly</source>
      <translation>Daten genau</translation>
    </message>
    <message>
      <source>Dates shown in UTC</source>
      <translation>Zeiten in UTC gezeigt</translation>
    </message>
    <message>
      <source>Dates shown in {zone}, stored in UTC</source>
      <translation>Zeiten in {zone} gezeigt, in UTC gespeichert</translation>
    </message>
    <message>
      <source>Dates within 1 day</source>
      <translation>Daten im Abstand von 1 Tag</translation>
    </message>
    <message>
      <source>Dates within 1 minute</source>
      <translation>Daten im Abstand von 1 Minute</translation>
    </message>
    <message>
      <source>Dates within 1 second</source>
      <translation>Daten im Abstand von 1 Sekunde</translation>
    </message>
    <message>
      <source>Day</source>
      <translation>Tag</translation>
    </message>
    <message>
      <source>Dec</source>
      <translation>Dez.</translation>
    </message>
    <message>
      <source>Decide by hand: both edits are shown side by side, and what you save is one separate write.</source>
      <translation>Entscheiden Sie von Hand: Beide Änderungen stehen nebeneinander, und was Sie speichern, ist ein eigener Schreibvorgang.</translation>
    </message>
    <message>
      <source>Decide by hand…</source>
      <translation>Von Hand entscheiden…</translation>
    </message>
    <message>
      <source>Decided</source>
      <translation>Entschieden</translation>
    </message>
    <message>
      <source>Decision</source>
      <translation>Entscheidung</translation>
    </message>
    <message>
      <source>DeepDiff would take too long for documents of this size; palimpsest diff --format {form} writes it.</source>
      <translation>DeepDiff bräuchte für Dokumente dieser Größe zu lange; palimpsest diff --format {form} schreibt es.</translation>
    </message>
    <message>
      <source>Del</source>
      <translation>Entf</translation>
    </message>
    <message>
      <source>Delete 1 document</source>
      <translation>1 Dokument löschen</translation>
    </message>
    <message>
      <source>Delete the picked documents…</source>
      <translation>Gewählte Dokumente löschen…</translation>
    </message>
    <message>
      <source>Delete {documents}</source>
      <translation>{documents} löschen</translation>
    </message>
    <message>
      <source>Delete {documents} of {ns}?</source>
      <translation>{documents} von {ns} löschen?</translation>
    </message>
    <message>
      <source>Delete {documents}…</source>
      <translation>{documents} löschen…</translation>
    </message>
    <message>
      <source>Delete {name}?</source>
      <translation>{name} löschen?</translation>
    </message>
    <message>
      <source>Deleted</source>
      <translation>Gelöscht</translation>
    </message>
    <message>
      <source>Deleted documents</source>
      <translation>Gelöschte Dokumente</translation>
    </message>
    <message>
      <source>Deleted, time unknown</source>
      <translation>Gelöscht, Zeit unbekannt</translation>
    </message>
    <message>
      <source>Delete…</source>
      <translation>Löschen…</translation>
    </message>
    <message>
      <source>Deleting {documents} of {ns}</source>
      <translation>{documents} von {ns} werden gelöscht</translation>
    </message>
    <message>
      <source>Deleting {id}</source>
      <translation>{id} wird gelöscht</translation>
    </message>
    <message>
      <source>Detail</source>
      <translation>Einzelheit</translation>
    </message>
    <message>
      <source>Details</source>
      <translation>Details</translation>
    </message>
    <message>
      <source>Difference {at:,} of {total:,}</source>
      <translation>Unterschied {at:,} von {total:,}</translation>
    </message>
    <message>
      <source>Differences</source>
      <translation>Unterschiede</translation>
    </message>
    <message>
      <source>Different from what a scan proposes today: {items}. {how}</source>
      <translation>Anders, als ein Prüflauf heute vorschlägt: {items}. {how}</translation>
    </message>
    <message>
      <source>Differs from {there} in {where}</source>
      <translation>Unterscheidet sich von {there} in: {where}</translation>
    </message>
    <message>
      <source>Differs from {there} in {where}, and in {still}</source>
      <translation>Unterscheidet sich von {there} in: {where}; {still}</translation>
    </message>
    <message>
      <source>Discard</source>
      <translation>Verwerfen</translation>
    </message>
    <message>
      <source>Discard 1 draft</source>
      <translation>1 Entwurf verwerfen</translation>
    </message>
    <message>
      <source>Discard 1 edit</source>
      <translation>1 Bearbeitung verwerfen</translation>
    </message>
    <message>
      <source>Discard forgets your edit.</source>
      <translation>„Verwerfen“ vergisst Ihre Bearbeitung.</translation>
    </message>
    <message>
      <source>Discard my edit…</source>
      <translation>Meine Bearbeitung verwerfen…</translation>
    </message>
    <message>
      <source>Discard the changes…</source>
      <translation>Änderungen verwerfen…</translation>
    </message>
    <message>
      <source>Discard this edit?</source>
      <translation>Diese Bearbeitung verwerfen?</translation>
    </message>
    <message>
      <source>Discard your edit of {id}?</source>
      <translation>Ihre Bearbeitung von {id} verwerfen?</translation>
    </message>
    <message>
      <source>Discard your edit?</source>
      <translation>Ihre Bearbeitung verwerfen?</translation>
    </message>
    <message>
      <source>Discard {changes}</source>
      <translation>Verwerfen: {changes}</translation>
    </message>
    <message>
      <source>Discard…</source>
      <translation>Verwerfen…</translation>
    </message>
    <message>
      <source>Disconnect</source>
      <translation>Trennen</translation>
    </message>
    <message>
      <source>Do not save</source>
      <translation>Nicht speichern</translation>
    </message>
    <message>
      <source>Do not verify the certificate (unsafe)</source>
      <translation>Zertifikat nicht prüfen (unsicher)</translation>
    </message>
    <message>
      <source>Document</source>
      <translation>Dokument</translation>
    </message>
    <message>
      <source>Document and field</source>
      <translation>Dokument und Feld</translation>
    </message>
    <message>
      <source>Document, token or owner</source>
      <translation>Dokument, Token oder Besitzer</translation>
    </message>
    <message>
      <source>Documents</source>
      <translation>Dokumente</translation>
    </message>
    <message>
      <source>Documents (*.json *.jsonl *.ndjson *.csv *.bson *.gz);;All files (*)</source>
      <translation>Dokumente (*.json *.jsonl *.ndjson *.csv *.bson *.gz);;Alle Dateien (*)</translation>
    </message>
    <message>
      <source>Documents a page</source>
      <translation>Dokumente je Seite</translation>
    </message>
    <message>
      <source>Documents as JSON</source>
      <translation>Dokumente als JSON</translation>
    </message>
    <message>
      <source>Documents of the history</source>
      <translation>Dokumente des Verlaufs</translation>
    </message>
    <message>
      <source>Documents of which changes are taken back</source>
      <translation>Dokumente, deren Änderungen zurückgenommen werden</translation>
    </message>
    <message>
      <source>Documents of {ns}</source>
      <translation>Dokumente von {ns}</translation>
    </message>
    <message>
      <source>Documents of {ns} as JSON</source>
      <translation>Dokumente von {ns} als JSON</translation>
    </message>
    <message>
      <source>Documents of {ns} that differ</source>
      <translation>Dokumente von {ns}, die sich unterscheiden</translation>
    </message>
    <message>
      <source>Documents that are changed</source>
      <translation>Dokumente, die geändert werden</translation>
    </message>
    <message>
      <source>Documents that are copied</source>
      <translation>Dokumente, die kopiert werden</translation>
    </message>
    <message>
      <source>Documents that are gone, each with its last version; the one chosen has its history below.</source>
      <translation>Dokumente, die es nicht mehr gibt, je mit der letzten Version; die Geschichte des gewählten steht unten.</translation>
    </message>
    <message>
      <source>Documents that lose earlier versions</source>
      <translation>Dokumente, die frühere Versionen verlieren</translation>
    </message>
    <message>
      <source>Documents that stay out</source>
      <translation>Dokumente, die draußen bleiben</translation>
    </message>
    <message>
      <source>Documents that would be deleted</source>
      <translation>Dokumente, die gelöscht würden</translation>
    </message>
    <message>
      <source>Documents to be changed in {ns} of {name}</source>
      <translation>Zu ändernde Dokumente in {ns} von {name}</translation>
    </message>
    <message>
      <source>Documents to be copied to {ns} of {name}</source>
      <translation>Zu kopierende Dokumente, nach {ns} in {name}</translation>
    </message>
    <message>
      <source>Documents were written since; Compare reads them again.</source>
      <translation>Seitdem wurden Dokumente geschrieben; Vergleichen liest sie neu.</translation>
    </message>
    <message>
      <source>Does not decode</source>
      <translation>Nicht dekodierbar</translation>
    </message>
    <message>
      <source>Down</source>
      <translation>Ab</translation>
    </message>
    <message>
      <source>Draft kept {hour:02d}:{minute:02d}</source>
      <translation>Entwurf behalten {hour:02d}:{minute:02d}</translation>
    </message>
    <message>
      <source>Drafts</source>
      <translation>Entwürfe</translation>
    </message>
    <message>
      <source>Drawing a number of {name}</source>
      <translation>Eine Nummer von {name} wird gezogen</translation>
    </message>
    <message>
      <source>Drop</source>
      <translation>Streichen</translation>
    </message>
    <message>
      <source>Drop the text</source>
      <translation>Text verwerfen</translation>
    </message>
    <message>
      <source>Drop {count}…</source>
      <translation>{count} streichen…</translation>
    </message>
    <message>
      <source>Dropped</source>
      <translation>Gestrichen</translation>
    </message>
    <message>
      <source>Drop…</source>
      <translation>Streichen…</translation>
    </message>
    <message>
      <source>Dry run</source>
      <translation>Probelauf</translation>
    </message>
    <message>
      <source>Dry run again</source>
      <translation>Erneuter Probelauf</translation>
    </message>
    <message>
      <source>Dry run report</source>
      <translation>Bericht des Probelaufs</translation>
    </message>
    <message>
      <source>Dry run:  {ticked} would be finished    {left} left out, too young    {asks} need a person</source>
      <translation>Probelauf:  {ticked} würden abgeschlossen    {left} ausgelassen, zu jung    {asks} muss jemand ansehen</translation>
    </message>
    <message>
      <source>Dry run: {documents} would be copied</source>
      <translation>Probelauf: Kopiert würden {documents}</translation>
    </message>
    <message>
      <source>Dumps (*.bson *.bson.gz *.json *.jsonl *.ndjson *.json.gz);;All files (*)</source>
      <translation>Dumps (*.bson *.bson.gz *.json *.jsonl *.ndjson *.json.gz);;Alle Dateien (*)</translation>
    </message>
    <message>
      <source>Duplicate</source>
      <translation>Duplizieren</translation>
    </message>
    <message>
      <source>Duplicate…</source>
      <translation>Duplizieren…</translation>
    </message>
    <message>
      <source>Each is copied to {quarantine}, then removed only if it is still exactly what the scan saw.</source>
      <translation>Jedes wird nach {quarantine} kopiert und dann nur entfernt, wenn es noch genau ist, was der Prüflauf sah.</translation>
    </message>
    <message>
      <source>Each is one guarded write: only if everything is still exactly what the scan saw.</source>
      <translation>Jede ist ein abgesicherter Schreibvorgang: nur wenn alles noch genau ist, was der Prüflauf sah.</translation>
    </message>
    <message>
      <source>Each is one guarded write: only if the document is still as the dry run saw it.</source>
      <translation>Jedes ist ein abgesicherter Schreibvorgang: nur wenn das Dokument noch so ist, wie der Probelauf es sah.</translation>
    </message>
    <message>
      <source>Each is one guarded write: the step that its writer would have sent.</source>
      <translation>Jedes ist ein abgesicherter Schreibvorgang: der Schritt, den sein Schreiber gesendet hätte.</translation>
    </message>
    <message>
      <source>Each is one guarded write; a document that changed since the dry run is left alone. Undo from the journal.</source>
      <translation>Jedes ist ein abgesicherter Schreibvorgang; ein Dokument, das sich seit dem Probelauf geändert hat, bleibt unberührt. Rückgängig geht es im Journal.</translation>
    </message>
    <message>
      <source>Each is one guarded write; undo takes all of them back.</source>
      <translation>Jedes ist ein abgesicherter Schreibvorgang; Rückgängig nimmt alle zurück.</translation>
    </message>
    <message>
      <source>Each is written only if it is still pending and was not applied.</source>
      <translation>Jedes wird nur geschrieben, wenn es noch offen ist und nicht angewendet wurde.</translation>
    </message>
    <message>
      <source>Each scan leaves its counts by class here, so that the next one shows whether a fix worked.{until}</source>
      <translation>Jeder Prüflauf hinterlässt hier seine Zahlen nach Klasse, damit der nächste zeigt, ob eine Behebung wirkte.{until}</translation>
    </message>
    <message>
      <source>Each write is guarded; undo takes all of them back.</source>
      <translation>Jeder Schreibvorgang ist abgesichert; Rückgängig nimmt sie alle zurück.</translation>
    </message>
    <message>
      <source>Each write is in the journal and can be undone there. Scan again to see what is left.</source>
      <translation>Jeder Schreibvorgang steht mit seinem Rückweg im Journal. Prüfen Sie erneut, um zu sehen, was bleibt.</translation>
    </message>
    <message>
      <source>Each write is in the journal; the whole run can be undone there.</source>
      <translation>Jeder Schreibvorgang steht mit seinem Rückweg im Journal; dort lässt sich der ganze Lauf rückgängig machen.</translation>
    </message>
    <message>
      <source>Earlier and saved queries</source>
      <translation>Frühere und gespeicherte Abfragen</translation>
    </message>
    <message>
      <source>Earlier data, gone</source>
      <translation>Frühere Daten, fort</translation>
    </message>
    <message>
      <source>Earlier queries</source>
      <translation>Frühere Abfragen</translation>
    </message>
    <message>
      <source>Earlier versions to be removed in {ns} of {name}</source>
      <translation>Frühere Versionen, die in {ns} von {name} entfernt werden sollen</translation>
    </message>
    <message>
      <source>Edit</source>
      <translation>Bearbeiten</translation>
    </message>
    <message>
      <source>Edit as a colleague</source>
      <translation>Als Kollege bearbeiten</translation>
    </message>
    <message>
      <source>Edit this connection…</source>
      <translation>Diese Verbindung bearbeiten…</translation>
    </message>
    <message>
      <source>Edit value</source>
      <translation>Wert bearbeiten</translation>
    </message>
    <message>
      <source>Editing as a colleague</source>
      <translation>Bearbeitung als Kollege</translation>
    </message>
    <message>
      <source>Editing on {name} is {how} now</source>
      <translation>Bearbeiten auf {name} ist jetzt {how}</translation>
    </message>
    <message>
      <source>Editing {id} as a colleague</source>
      <translation>{id} wird als Kollege bearbeitet</translation>
    </message>
    <message>
      <source>Edits that are not saved. They stay when a tab or the window is closed.</source>
      <translation>Bearbeitungen, die nicht gespeichert sind. Sie bleiben, wenn ein Tab oder das Fenster geschlossen wird.</translation>
    </message>
    <message>
      <source>Enter</source>
      <translation>Eingabe</translation>
    </message>
    <message>
      <source>Enter compares a version with the one before it; Ctrl and Shift pick several</source>
      <translation>Enter vergleicht eine Version mit der davor; Strg und Umschalt wählen mehrere aus</translation>
    </message>
    <message>
      <source>Enter compares the version at which the condition turns with the one before it</source>
      <translation>Die Eingabetaste vergleicht die Version, bei der die Bedingung umschlägt, mit der davor</translation>
    </message>
    <message>
      <source>Enter compares the version that set the field with the one before it</source>
      <translation>Die Eingabetaste vergleicht die Version, die das Feld gesetzt hat, mit der davor</translation>
    </message>
    <message>
      <source>Enter compares the version that set the field with the one before it; Ctrl+Shift+B shows the change map</source>
      <translation>Die Eingabetaste vergleicht die Version, die das Feld gesetzt hat, mit der davor; Strg+Umschalt+B zeigt die Änderungskarte</translation>
    </message>
    <message>
      <source>Enter shows a version in its timeline; Esc lets the list go on</source>
      <translation>Enter zeigt eine Version auf ihrer Zeitleiste; Esc lässt die Liste weiterlaufen</translation>
    </message>
    <message>
      <source>Enter, Tab</source>
      <translation>Eingabe, Tab</translation>
    </message>
    <message>
      <source>Entry</source>
      <translation>Eintrag</translation>
    </message>
    <message>
      <source>Environment</source>
      <translation>Umgebung</translation>
    </message>
    <message>
      <source>Erase fields for good…</source>
      <translation>Felder endgültig löschen…</translation>
    </message>
    <message>
      <source>Erase fields of {name} for good</source>
      <translation>Felder von {name} endgültig löschen</translation>
    </message>
    <message>
      <source>Erase for good</source>
      <translation>Endgültig löschen</translation>
    </message>
    <message>
      <source>Erased:</source>
      <translation>Gelöscht:</translation>
    </message>
    <message>
      <source>Erasing fields of {name}</source>
      <translation>Felder von {name} werden gelöscht</translation>
    </message>
    <message>
      <source>Esc</source>
      <translation>Esc</translation>
    </message>
    <message>
      <source>Every counter has been raised by the step that follows its token.</source>
      <translation>Jeder Zähler wurde durch den Schritt erhöht, der auf sein Token folgt.</translation>
    </message>
    <message>
      <source>Every document of {ns} was the same at both times.</source>
      <translation>Jedes Dokument von {ns} war zu beiden Zeiten gleich.</translation>
    </message>
    <message>
      <source>Every repair is kept in the journal</source>
      <translation>Jede Reparatur steht im Journal</translation>
    </message>
    <message>
      <source>Every type is spelt out.</source>
      <translation>Jeder Typ ist ausgeschrieben.</translation>
    </message>
    <message>
      <source>Every version of every document of {ns}.</source>
      <translation>Jede Version jedes Dokuments von {ns}.</translation>
    </message>
    <message>
      <source>Every version of {name}.</source>
      <translation>Jede Version von {name}.</translation>
    </message>
    <message>
      <source>Every write from this computer: noted before it is sent, with its outcome after.</source>
      <translation>Jeder Schreibvorgang von diesem Computer: vor dem Senden vermerkt, danach mit seinem Ausgang.</translation>
    </message>
    <message>
      <source>Every write is guarded by the whole content</source>
      <translation>Jeder Schreibvorgang ist durch den ganzen Inhalt abgesichert</translation>
    </message>
    <message>
      <source>Every write is guarded by the whole content and has its row for {writer}</source>
      <translation>Jeder Schreibvorgang ist durch den ganzen Inhalt abgesichert und hat seine Zeile für {writer}</translation>
    </message>
    <message>
      <source>Every write is guarded by {guards}</source>
      <translation>Jeder Schreibvorgang ist abgesichert durch {guards}</translation>
    </message>
    <message>
      <source>Every write of {run} is taken back, the last one first. A document that changed since the run is left alone.</source>
      <translation>Jeder Schreibvorgang von {run} wird zurückgenommen, der letzte zuerst. Ein Dokument, das sich seit dem Lauf geändert hat, bleibt unberührt.</translation>
    </message>
    <message>
      <source>Everywhere</source>
      <translation>Überall</translation>
    </message>
    <message>
      <source>Expand all</source>
      <translation>Alles aufklappen</translation>
    </message>
    <message>
      <source>Explain the query and the indexes…</source>
      <translation>Abfrage erklären, und die Indexe…</translation>
    </message>
    <message>
      <source>Explain this query, and the indexes</source>
      <translation>Diese Abfrage erklären, und die Indexe</translation>
    </message>
    <message>
      <source>Explaining a query to {ns}</source>
      <translation>Eine Abfrage an {ns} wird erklärt</translation>
    </message>
    <message>
      <source>Export history</source>
      <translation>Verlauf exportieren</translation>
    </message>
    <message>
      <source>Export the history of the collection…</source>
      <translation>Verlauf der Sammlung exportieren…</translation>
    </message>
    <message>
      <source>Export the history of the document…</source>
      <translation>Verlauf des Dokuments exportieren…</translation>
    </message>
    <message>
      <source>Export the history to</source>
      <translation>Verlauf exportieren nach</translation>
    </message>
    <message>
      <source>Export the history to an empty folder</source>
      <translation>Verlauf in einen leeren Ordner exportieren</translation>
    </message>
    <message>
      <source>Export the listed documents</source>
      <translation>Gelistete Dokumente exportieren</translation>
    </message>
    <message>
      <source>Export the list…</source>
      <translation>Liste exportieren…</translation>
    </message>
    <message>
      <source>Export the picked documents…</source>
      <translation>Gewählte Dokumente exportieren…</translation>
    </message>
    <message>
      <source>Export {documents}</source>
      <translation>{documents} exportieren</translation>
    </message>
    <message>
      <source>Export {documents}…</source>
      <translation>{documents} exportieren…</translation>
    </message>
    <message>
      <source>Exporting the history of {ns}</source>
      <translation>Der Verlauf von {ns} wird exportiert</translation>
    </message>
    <message>
      <source>Exporting {ns}</source>
      <translation>{ns} wird exportiert</translation>
    </message>
    <message>
      <source>Exporting {ns} to {path}</source>
      <translation>{ns} wird nach {path} exportiert</translation>
    </message>
    <message>
      <source>Export…</source>
      <translation>Exportieren…</translation>
    </message>
    <message>
      <source>F2, Shift+F2</source>
      <translation>F2, Umschalt+F2</translation>
    </message>
    <message>
      <source>F3, Shift+F3</source>
      <translation>F3, Umschalt+F3</translation>
    </message>
    <message>
      <source>Failed after</source>
      <translation>Fehlgeschlagen nach</translation>
    </message>
    <message>
      <source>Fast</source>
      <translation>Schnell</translation>
    </message>
    <message>
      <source>Fast: as quickly as the server answers.</source>
      <translation>Schnell: so schnell, wie der Server antwortet.</translation>
    </message>
    <message>
      <source>Feb</source>
      <translation>Feb.</translation>
    </message>
    <message>
      <source>Field</source>
      <translation>Feld</translation>
    </message>
    <message>
      <source>Field, such as premium.gross: at it, below and above</source>
      <translation>Feld, etwa premium.gross: dort, darunter und darüber</translation>
    </message>
    <message>
      <source>Field, version or name</source>
      <translation>Feld, Version oder Name</translation>
    </message>
    <message>
      <source>Fields</source>
      <translation>Felder</translation>
    </message>
    <message>
      <source>Fields and the versions that last set them</source>
      <translation>Felder und die Versionen, die sie zuletzt gesetzt haben</translation>
    </message>
    <message>
      <source>Fields of all versions</source>
      <translation>Felder aller Versionen</translation>
    </message>
    <message>
      <source>Fields of this collection</source>
      <translation>Felder dieser Sammlung</translation>
    </message>
    <message>
      <source>Fields of {name}</source>
      <translation>Felder von {name}</translation>
    </message>
    <message>
      <source>Fields such as premium.gross, separated by commas: only these are taken back</source>
      <translation>Felder wie premium.gross, durch Kommas getrennt: Nur diese werden zurückgenommen</translation>
    </message>
    <message>
      <source>Fields that can be columns</source>
      <translation>Felder, die Spalten sein können</translation>
    </message>
    <message>
      <source>Fields that were read</source>
      <translation>Gelesene Felder</translation>
    </message>
    <message>
      <source>Fields whose changes are hidden here: see the list, show them again</source>
      <translation>Felder, deren Änderungen hier ausgeblendet sind: Liste ansehen, wieder zeigen</translation>
    </message>
    <message>
      <source>Fields, to be read</source>
      <translation>Felder, zum Lesen</translation>
    </message>
    <message>
      <source>Filter</source>
      <translation>Filter</translation>
    </message>
    <message>
      <source>Filter, for example { "status": "active" }, or an id</source>
      <translation>Filter, zum Beispiel { "status": "active" }, oder eine Id</translation>
    </message>
    <message>
      <source>Find</source>
      <translation>Suchen</translation>
    </message>
    <message>
      <source>Find (Ctrl+F); next and previous are F3 and Shift+F3</source>
      <translation>Suchen (Strg+F); weiter und zurück mit F3 und Umschalt+F3</translation>
    </message>
    <message>
      <source>Find a collection</source>
      <translation>Sammlung suchen</translation>
    </message>
    <message>
      <source>Find a collection…</source>
      <translation>Sammlung suchen…</translation>
    </message>
    <message>
      <source>Find a command or collection</source>
      <translation>Befehl oder Sammlung suchen</translation>
    </message>
    <message>
      <source>Find a command or collection (Ctrl+K)</source>
      <translation>Befehl oder Sammlung suchen (Strg+K)</translation>
    </message>
    <message>
      <source>Find a command or collection…</source>
      <translation>Befehl oder Sammlung suchen…</translation>
    </message>
    <message>
      <source>Find a field</source>
      <translation>Feld suchen</translation>
    </message>
    <message>
      <source>Find field or value</source>
      <translation>Feld oder Wert suchen</translation>
    </message>
    <message>
      <source>Find in all pages</source>
      <translation>In allen Seiten suchen</translation>
    </message>
    <message>
      <source>Find in the list</source>
      <translation>In der Liste suchen</translation>
    </message>
    <message>
      <source>Find in the manual</source>
      <translation>Im Handbuch suchen</translation>
    </message>
    <message>
      <source>Find next</source>
      <translation>Weitersuchen</translation>
    </message>
    <message>
      <source>Find previous</source>
      <translation>Rückwärts suchen</translation>
    </message>
    <message>
      <source>Find the versions at which a condition on this field turned true or false</source>
      <translation>Die Versionen finden, bei denen eine Bedingung an dieses Feld wahr oder falsch wurde</translation>
    </message>
    <message>
      <source>Find when</source>
      <translation>Zeitpunkt finden</translation>
    </message>
    <message>
      <source>Find when this became true</source>
      <translation>Finden, wann dies wahr wurde</translation>
    </message>
    <message>
      <source>Find when this became true…</source>
      <translation>Finden, wann dies wahr wurde…</translation>
    </message>
    <message>
      <source>Find when…</source>
      <translation>Zeitpunkt finden…</translation>
    </message>
    <message>
      <source>Finding</source>
      <translation>Wird gesucht</translation>
    </message>
    <message>
      <source>Findings</source>
      <translation>Befunde</translation>
    </message>
    <message>
      <source>Findings by class</source>
      <translation>Befunde nach Klasse</translation>
    </message>
    <message>
      <source>Findings by class, over the scans</source>
      <translation>Befunde nach Klasse, über die Prüfläufe</translation>
    </message>
    <message>
      <source>Findings over time in {ns} of {name}</source>
      <translation>Befunde im Lauf der Zeit in {ns} von {name}</translation>
    </message>
    <message>
      <source>Find…</source>
      <translation>Suchen…</translation>
    </message>
    <message>
      <source>Finish</source>
      <translation>Abschließen</translation>
    </message>
    <message>
      <source>Finish all older than</source>
      <translation>Alle abschließen, die älter sind als</translation>
    </message>
    <message>
      <source>Finish all older than…</source>
      <translation>Alle abschließen, die älter sind als…</translation>
    </message>
    <message>
      <source>Finish {count}</source>
      <translation>{count} abschließen</translation>
    </message>
    <message>
      <source>Finished</source>
      <translation>Abgeschlossen</translation>
    </message>
    <message>
      <source>First</source>
      <translation>Zuerst</translation>
    </message>
    <message>
      <source>First agree to leave out what differs.</source>
      <translation>Stimmen Sie zuerst zu, wegzulassen, was abweicht.</translation>
    </message>
    <message>
      <source>First difference</source>
      <translation>Erster Unterschied</translation>
    </message>
    <message>
      <source>First time</source>
      <translation>Erste Zeit</translation>
    </message>
    <message>
      <source>Five things to try</source>
      <translation>Fünf Dinge zum Ausprobieren</translation>
    </message>
    <message>
      <source>Fold {fields}</source>
      <translation>{fields} einklappen</translation>
    </message>
    <message>
      <source>Fold, unfold in the JSON</source>
      <translation>Ein- und ausklappen im JSON</translation>
    </message>
    <message>
      <source>Folder…</source>
      <translation>Ordner…</translation>
    </message>
    <message>
      <source>Following {id}</source>
      <translation>{id} wird verfolgt</translation>
    </message>
    <message>
      <source>For example { "status": "active" } or { "premium.gross": { $gte: 500 } }, as in the filter of a collection.</source>
      <translation>Zum Beispiel { "status": "active" } oder { "premium.gross": { $gte: 500 } }, wie im Filter einer Sammlung.</translation>
    </message>
    <message>
      <source>Forget a saved query</source>
      <translation>Gespeicherte Abfrage vergessen</translation>
    </message>
    <message>
      <source>Forget the earlier queries</source>
      <translation>Frühere Abfragen vergessen</translation>
    </message>
    <message>
      <source>Forget this connection</source>
      <translation>Diese Verbindung vergessen</translation>
    </message>
    <message>
      <source>Forward (Alt+Right)</source>
      <translation>Vorwärts (Alt+Rechts)</translation>
    </message>
    <message>
      <source>Found in</source>
      <translation>Gefunden in</translation>
    </message>
    <message>
      <source>Found in {looked} of the collection</source>
      <translation>Gefunden in {looked:dative} der Sammlung</translation>
    </message>
    <message>
      <source>From</source>
      <translation>Aus</translation>
    </message>
    <message>
      <source>From a file…</source>
      <translation>Aus einer Datei…</translation>
    </message>
    <message>
      <source>From a repository or folder…</source>
      <translation>Aus einem Repository oder Ordner…</translation>
    </message>
    <message>
      <source>From here on</source>
      <translation>Ab hier</translation>
    </message>
    <message>
      <source>From now on, each write changes {lock}</source>
      <translation>Ab jetzt ändert jeder Schreibvorgang {lock}</translation>
    </message>
    <message>
      <source>From {described}, to {described2}</source>
      <translation>Von {described}, nach {described2}</translation>
    </message>
    <message>
      <source>From {first} to {then} ({zone}): {counts}.</source>
      <translation>Von {first} bis {then} ({zone}): {counts}.</translation>
    </message>
    <message>
      <source>Full</source>
      <translation>Voll</translation>
    </message>
    <message>
      <source>Full colour: the value is in force now. Pale: overwritten since. Hatched columns: versions that are not kept. The arrow keys move the cell, Enter compares, Ctrl+Shift+B lists who set what.</source>
      <translation>Kräftige Farbe: Der Wert gilt jetzt. Blass: seitdem überschrieben. Schraffierte Spalten: Versionen, die nicht aufbewahrt sind. Die Pfeiltasten bewegen die Zelle, die Eingabetaste vergleicht, Strg+Umschalt+B zeigt, wer was gesetzt hat.</translation>
    </message>
    <message>
      <source>Gently</source>
      <translation>Schonend</translation>
    </message>
    <message>
      <source>Gently: small batches with rests between them, from a secondary where there is one.</source>
      <translation>Schonend: kleine Portionen mit Pausen dazwischen, von einem Secondary, wo es einen gibt.</translation>
    </message>
    <message>
      <source>Git repository…</source>
      <translation>Git-Repository…</translation>
    </message>
    <message>
      <source>Give {field} another value (type it on the chosen row, then Enter). A colleague sets it to something else while you type. Save with Ctrl+S all the same: you are asked before anything is lost.</source>
      <translation>Geben Sie {field} einen anderen Wert (in der gewählten Zeile tippen, dann Eingabetaste). Ein Kollege setzt es währenddessen auf etwas anderes. Speichern Sie trotzdem mit Strg+S: Sie werden gefragt, bevor etwas verloren geht.</translation>
    </message>
    <message>
      <source>Go on</source>
      <translation>Weiter</translation>
    </message>
    <message>
      <source>Go on editing</source>
      <translation>Weiter bearbeiten</translation>
    </message>
    <message>
      <source>Go to a tab</source>
      <translation>Zu einem Tab gehen</translation>
    </message>
    <message>
      <source>Gone</source>
      <translation>Verschwunden</translation>
    </message>
    <message>
      <source>Grouped by</source>
      <translation>Gruppiert nach</translation>
    </message>
    <message>
      <source>Grouped by {}</source>
      <translation>Gruppiert nach {}</translation>
    </message>
    <message>
      <source>Guarantees</source>
      <translation>Zusicherungen</translation>
    </message>
    <message>
      <source>Hash</source>
      <translation>Hash</translation>
    </message>
    <message>
      <source>Hashes that did not fit before, and stay for a scan to tell:</source>
      <translation>Hashes, die schon vorher nicht passten und bleiben, damit ein Scan sie meldet:</translation>
    </message>
    <message>
      <source>Hashes that do not fit their contents, and would stay as they are:</source>
      <translation>Hashes, die nicht zu ihren Inhalten passen und so blieben, wie sie sind:</translation>
    </message>
    <message>
      <source>Health</source>
      <translation>Zustand</translation>
    </message>
    <message>
      <source>Health: findings over time</source>
      <translation>Zustand: Befunde im Lauf der Zeit</translation>
    </message>
    <message>
      <source>Help</source>
      <translation>Hilfe</translation>
    </message>
    <message>
      <source>Help for this view</source>
      <translation>Hilfe zu dieser Ansicht</translation>
    </message>
    <message>
      <source>Help – Palimpsest</source>
      <translation>Hilfe – Palimpsest</translation>
    </message>
    <message>
      <source>Help: {title}</source>
      <translation>Hilfe: {title}</translation>
    </message>
    <message>
      <source>Here</source>
      <translation>Hier</translation>
    </message>
    <message>
      <source>Hidden fields</source>
      <translation>Ausgeblendete Felder</translation>
    </message>
    <message>
      <source>Hidden fields…</source>
      <translation>Ausgeblendete Felder…</translation>
    </message>
    <message>
      <source>Hidden: not among the changes</source>
      <translation>Ausgeblendet: zählt nicht zu den Änderungen</translation>
    </message>
    <message>
      <source>Hide the server's plan</source>
      <translation>Plan des Servers ausblenden</translation>
    </message>
    <message>
      <source>Hide this pane (Ctrl+B)</source>
      <translation>Diesen Bereich ausblenden (Strg+B)</translation>
    </message>
    <message>
      <source>Hide {named}</source>
      <translation>{named} ausblenden</translation>
    </message>
    <message>
      <source>High</source>
      <translation>Hoch</translation>
    </message>
    <message>
      <source>History</source>
      <translation>Verlauf</translation>
    </message>
    <message>
      <source>History of a field</source>
      <translation>Verlauf eines Feldes</translation>
    </message>
    <message>
      <source>History of {name}</source>
      <translation>Verlauf von {name}</translation>
    </message>
    <message>
      <source>Holds</source>
      <translation>Hält</translation>
    </message>
    <message>
      <source>Home, End</source>
      <translation>Pos1, Ende</translation>
    </message>
    <message>
      <source>How it ended</source>
      <translation>Ausgang</translation>
    </message>
    <message>
      <source>How old the tokens shown are</source>
      <translation>Wie alt die gezeigten Token sind</translation>
    </message>
    <message>
      <source>How this query is answered</source>
      <translation>Wie diese Abfrage beantwortet wird</translation>
    </message>
    <message>
      <source>Id</source>
      <translation>Id</translation>
    </message>
    <message>
      <source>If dropped</source>
      <translation>Wenn gestrichen</translation>
    </message>
    <message>
      <source>If finished</source>
      <translation>Wenn abgeschlossen</translation>
    </message>
    <message>
      <source>Ignore the order of {named}</source>
      <translation>Reihenfolge von {named} nicht beachten</translation>
    </message>
    <message>
      <source>Import</source>
      <translation>Importieren</translation>
    </message>
    <message>
      <source>Import a history into {ns}</source>
      <translation>Einen Verlauf in {ns} importieren</translation>
    </message>
    <message>
      <source>Import documents…</source>
      <translation>Dokumente importieren…</translation>
    </message>
    <message>
      <source>Import history</source>
      <translation>Verlauf importieren</translation>
    </message>
    <message>
      <source>Import history…</source>
      <translation>Verlauf importieren…</translation>
    </message>
    <message>
      <source>Import into {ns}</source>
      <translation>Import nach {ns}</translation>
    </message>
    <message>
      <source>Import {documents}</source>
      <translation>{documents} importieren</translation>
    </message>
    <message>
      <source>Importing {documents} into {ns}</source>
      <translation>{documents} werden in {ns} importiert</translation>
    </message>
    <message>
      <source>Import…</source>
      <translation>Importieren…</translation>
    </message>
    <message>
      <source>In</source>
      <translation>In</translation>
    </message>
    <message>
      <source>In a comparison</source>
      <translation>In einem Vergleich</translation>
    </message>
    <message>
      <source>In a list with ticks</source>
      <translation>In einer Liste mit Kreuzen</translation>
    </message>
    <message>
      <source>In a merge</source>
      <translation>In einer Zusammenführung</translation>
    </message>
    <message>
      <source>In a profile</source>
      <translation>In einem Profil</translation>
    </message>
    <message>
      <source>In all of {name}</source>
      <translation>In ganz {name}</translation>
    </message>
    <message>
      <source>In memory; closed with the window</source>
      <translation>Im Speicher; mit dem Fenster geschlossen</translation>
    </message>
    <message>
      <source>In the change map</source>
      <translation>In der Änderungskarte</translation>
    </message>
    <message>
      <source>In the database</source>
      <translation>In der Datenbank</translation>
    </message>
    <message>
      <source>In the database   {now}</source>
      <translation>In der Datenbank   {now}</translation>
    </message>
    <message>
      <source>In the database {now}</source>
      <translation>In der Datenbank {now}</translation>
    </message>
    <message>
      <source>In the desktop's menus…</source>
      <translation>In den Menüs des Desktops…</translation>
    </message>
    <message>
      <source>In the editor</source>
      <translation>Im Editor</translation>
    </message>
    <message>
      <source>In the list of documents</source>
      <translation>In der Dokumentliste</translation>
    </message>
    <message>
      <source>In the manual</source>
      <translation>Im Handbuch</translation>
    </message>
    <message>
      <source>In the timeline</source>
      <translation>In der Zeitleiste</translation>
    </message>
    <message>
      <source>In words…</source>
      <translation>In Worten…</translation>
    </message>
    <message>
      <source>In {ns}: </source>
      <translation>In {ns}: </translation>
    </message>
    <message>
      <source>In {scans}, each document was as its layout requires.</source>
      <translation>Nach {scans:dative} ist klar: Jedes Dokument war so, wie sein Layout es verlangt.</translation>
    </message>
    <message>
      <source>Index</source>
      <translation>Index</translation>
    </message>
    <message>
      <source>Indexes and their use…</source>
      <translation>Indexe und ihre Benutzung…</translation>
    </message>
    <message>
      <source>Indexes of {ns}</source>
      <translation>Indexe von {ns}</translation>
    </message>
    <message>
      <source>Ins, Del</source>
      <translation>Einfg, Entf</translation>
    </message>
    <message>
      <source>Insert</source>
      <translation>Einfügen</translation>
    </message>
    <message>
      <source>Insert 1 document</source>
      <translation>1 Dokument einfügen</translation>
    </message>
    <message>
      <source>Insert {documents}</source>
      <translation>{documents} einfügen</translation>
    </message>
    <message>
      <source>Inserting a document</source>
      <translation>Ein Dokument wird eingefügt</translation>
    </message>
    <message>
      <source>Inserting {documents} into {ns}</source>
      <translation>{documents} werden in {ns} eingefügt</translation>
    </message>
    <message>
      <source>Inside the grace period</source>
      <translation>In der Schonfrist</translation>
    </message>
    <message>
      <source>Inside the grace period: left out</source>
      <translation>In der Schonfrist: ausgelassen</translation>
    </message>
    <message>
      <source>Into the collection</source>
      <translation>In die Sammlung</translation>
    </message>
    <message>
      <source>Into the field above, out of its own</source>
      <translation>In das Feld darüber, aus dem eigenen heraus</translation>
    </message>
    <message>
      <source>Is so already</source>
      <translation>Ist schon so</translation>
    </message>
    <message>
      <source>It belongs to {source}; open that first.</source>
      <translation>Er gehört zu {source}; öffnen Sie das zuerst.</translation>
    </message>
    <message>
      <source>It did not arrive; save again.</source>
      <translation>Es kam nicht an; speichern Sie erneut.</translation>
    </message>
    <message>
      <source>It does not hold now</source>
      <translation>Sie gilt jetzt nicht</translation>
    </message>
    <message>
      <source>It ends with the last one.</source>
      <translation>Er endet mit der letzten.</translation>
    </message>
    <message>
      <source>It gets a new UUID</source>
      <translation>Es bekommt eine neue UUID</translation>
    </message>
    <message>
      <source>It goes up by one</source>
      <translation>Es steigt um eins</translation>
    </message>
    <message>
      <source>It has changed since the list was read, or cannot be read.</source>
      <translation>Es hat sich geändert, seit die Liste gelesen wurde, oder ist nicht lesbar.</translation>
    </message>
    <message>
      <source>It holds now</source>
      <translation>Sie gilt jetzt</translation>
    </message>
    <message>
      <source>It is an ordinary field</source>
      <translation>Es ist ein gewöhnliches Feld</translation>
    </message>
    <message>
      <source>It is an ordinary field from now on</source>
      <translation>Es ist ab jetzt ein gewöhnliches Feld</translation>
    </message>
    <message>
      <source>It is copied</source>
      <translation>Es ist kopiert</translation>
    </message>
    <message>
      <source>It is in the archive, above the current version: its edit never reached the document. Nobody counts it.</source>
      <translation>Sie steht im Archiv, über der aktuellen Version: ihre Bearbeitung kam nie beim Dokument an. Niemand zählt sie mit.</translation>
    </message>
    <message>
      <source>It is not known whether {count} was {done}.</source>
      <translation>Es ist nicht bekannt, ob {count} {done} wurde.</translation>
    </message>
    <message>
      <source>It is not known whether {repairs} arrived.</source>
      <translation>Ankunft nicht bekannt: {repairs}.</translation>
    </message>
    <message>
      <source>It is not known whether {sent_name} was saved</source>
      <translation>Es ist nicht bekannt, ob {sent_name} gespeichert wurde</translation>
    </message>
    <message>
      <source>It is not proven that {name} was like this then: {said}.</source>
      <translation>Dass {name} damals so war, ist nicht belegt: {said}.</translation>
    </message>
    <message>
      <source>It is not there any more.</source>
      <translation>Es ist nicht mehr da.</translation>
    </message>
    <message>
      <source>It may have been deleted.</source>
      <translation>Es wurde vielleicht gelöscht.</translation>
    </message>
    <message>
      <source>It never turns</source>
      <translation>Sie schlägt nie um</translation>
    </message>
    <message>
      <source>It was deleted {at}; nothing tells by whom.</source>
      <translation>Es wurde am {at} gelöscht; von wem, sagt nichts.</translation>
    </message>
    <message>
      <source>It was not there before</source>
      <translation>Vorher war es nicht da</translation>
    </message>
    <message>
      <source>It was written to {source}; open that to undo it.</source>
      <translation>Es wurde nach {source} geschrieben; öffnen Sie das, um es rückgängig zu machen.</translation>
    </message>
    <message>
      <source>Its _id is not the one in the line above; empty that line, or take _id out.</source>
      <translation>Seine _id ist nicht die in der Zeile oben; leeren Sie die Zeile oder nehmen Sie _id heraus.</translation>
    </message>
    <message>
      <source>Its bytes are not valid BSON; it is shown and never written.</source>
      <translation>Seine Bytes sind kein gültiges BSON; es wird gezeigt und nie geschrieben.</translation>
    </message>
    <message>
      <source>Its content, as a new document</source>
      <translation>Sein Inhalt, als neues Dokument</translation>
    </message>
    <message>
      <source>Its content, as an edit</source>
      <translation>Sein Inhalt, als Bearbeitung</translation>
    </message>
    <message>
      <source>Its current version is empty or cannot be read.</source>
      <translation>Seine aktuelle Version ist leer oder nicht lesbar.</translation>
    </message>
    <message>
      <source>Its entry, its icon and its link to BSON files are removed; the program stays.</source>
      <translation>Eintrag, Symbol und Verknüpfung mit BSON-Dateien werden entfernt; das Programm bleibt.</translation>
    </message>
    <message>
      <source>Its history: {versions}</source>
      <translation>Seine Historie: {versions}</translation>
    </message>
    <message>
      <source>Its layout is “{now}” now. Every document's whole history is copied beside it and compared byte for byte. The old collection stays as it is; people may go on writing, and copying again brings it over.</source>
      <translation>Ihr Layout ist jetzt „{now}“. Der ganze Verlauf jedes Dokuments wird daneben kopiert und Byte für Byte verglichen. Die alte Sammlung bleibt, wie sie ist; es darf weiter geschrieben werden, und erneutes Kopieren holt es nach.</translation>
    </message>
    <message>
      <source>Its versions are empty or cannot be read.</source>
      <translation>Seine Versionen sind leer oder nicht lesbar.</translation>
    </message>
    <message>
      <source>JSON lines…</source>
      <translation>JSON-Zeilen…</translation>
    </message>
    <message>
      <source>Jan</source>
      <translation>Jan.</translation>
    </message>
    <message>
      <source>Journal</source>
      <translation>Journal</translation>
    </message>
    <message>
      <source>Jul</source>
      <translation>Juli</translation>
    </message>
    <message>
      <source>Jun</source>
      <translation>Juni</translation>
    </message>
    <message>
      <source>Keep a text of several lines</source>
      <translation>Mehrzeiligen Text behalten</translation>
    </message>
    <message>
      <source>Keep as it was</source>
      <translation>Behalten, wie es war</translation>
    </message>
    <message>
      <source>Keep both, mine first</source>
      <translation>Beide behalten, meines zuerst</translation>
    </message>
    <message>
      <source>Keep it in this computer's keyring</source>
      <translation>Im Schlüsselbund dieses Computers behalten</translation>
    </message>
    <message>
      <source>Keep passwords in this computer's keyring</source>
      <translation>Passwörter im Schlüsselbund dieses Computers behalten</translation>
    </message>
    <message>
      <source>Keep the newest</source>
      <translation>Die neuesten behalten</translation>
    </message>
    <message>
      <source>Keep what is younger than</source>
      <translation>Behalten, was jünger ist als</translation>
    </message>
    <message>
      <source>Keep what matches</source>
      <translation>Behalten, was passt auf</translation>
    </message>
    <message>
      <source>Keep what was opened</source>
      <translation>Behalten, was geöffnet wurde</translation>
    </message>
    <message>
      <source>Keep what was opened, for all unresolved</source>
      <translation>Behalten, was geöffnet wurde, für alles Ungelöste</translation>
    </message>
    <message>
      <source>Keep {was}</source>
      <translation>{was} behalten</translation>
    </message>
    <message>
      <source>Keeping the answer</source>
      <translation>Die Antwort wird behalten</translation>
    </message>
    <message>
      <source>Kept</source>
      <translation>Behalten</translation>
    </message>
    <message>
      <source>Keyboard</source>
      <translation>Tastatur</translation>
    </message>
    <message>
      <source>Language</source>
      <translation>Sprache</translation>
    </message>
    <message>
      <source>Language of the code</source>
      <translation>Sprache des Codes</translation>
    </message>
    <message>
      <source>Larger text</source>
      <translation>Größerer Text</translation>
    </message>
    <message>
      <source>Last change</source>
      <translation>Letzte Änderung</translation>
    </message>
    <message>
      <source>Last difference</source>
      <translation>Letzter Unterschied</translation>
    </message>
    <message>
      <source>Last set</source>
      <translation>Zuletzt</translation>
    </message>
    <message>
      <source>Last set by</source>
      <translation>Zuletzt gesetzt von</translation>
    </message>
    <message>
      <source>Layout</source>
      <translation>Layout</translation>
    </message>
    <message>
      <source>Layout and its grounds…</source>
      <translation>Layout und seine Gründe…</translation>
    </message>
    <message>
      <source>Layout of {ns}</source>
      <translation>Layout von {ns}</translation>
    </message>
    <message>
      <source>Layouts are stated in {file}</source>
      <translation>Layouts sind in {file} beschrieben</translation>
    </message>
    <message>
      <source>Leave it as it was</source>
      <translation>Lassen, wie es war</translation>
    </message>
    <message>
      <source>Leave it to recognition</source>
      <translation>Der Erkennung überlassen</translation>
    </message>
    <message>
      <source>Leave out what differs, do the rest</source>
      <translation>Was abweicht, weglassen und das Übrige tun</translation>
    </message>
    <message>
      <source>Left empty, the keys come from the environment or the machine's role.</source>
      <translation>Leer gelassen kommen die Schlüssel aus der Umgebung oder der Rolle der Maschine.</translation>
    </message>
    <message>
      <source>Left, Right</source>
      <translation>Links, Rechts</translation>
    </message>
    <message>
      <source>Licences and notices</source>
      <translation>Lizenzen und Hinweise</translation>
    </message>
    <message>
      <source>Light</source>
      <translation>Hell</translation>
    </message>
    <message>
      <source>Light colours</source>
      <translation>Helle Farben</translation>
    </message>
    <message>
      <source>Limit</source>
      <translation>Grenze</translation>
    </message>
    <message>
      <source>Limited</source>
      <translation>Eingeschränkt</translation>
    </message>
    <message>
      <source>Line numbers</source>
      <translation>Zeilennummern</translation>
    </message>
    <message>
      <source>Lines of Extended JSON (*.jsonl)</source>
      <translation>Zeilen in Extended JSON (*.jsonl)</translation>
    </message>
    <message>
      <source>Lines of JSON (*.jsonl)</source>
      <translation>JSON-Zeilen (*.jsonl)</translation>
    </message>
    <message>
      <source>Lines of JSON (*.jsonl);;All files (*)</source>
      <translation>JSON-Zeilen (*.jsonl);;Alle Dateien (*)</translation>
    </message>
    <message>
      <source>List of tabs (Ctrl+Shift+A)</source>
      <translation>Liste der Tabs (Strg+Umschalt+A)</translation>
    </message>
    <message>
      <source>List of tabs…</source>
      <translation>Liste der Tabs…</translation>
    </message>
    <message>
      <source>Listing documents</source>
      <translation>Dokumente werden gelistet</translation>
    </message>
    <message>
      <source>Live</source>
      <translation>Live</translation>
    </message>
    <message>
      <source>Load anyway</source>
      <translation>Trotzdem laden</translation>
    </message>
    <message>
      <source>Login</source>
      <translation>Anmeldung</translation>
    </message>
    <message>
      <source>Look</source>
      <translation>Suchen</translation>
    </message>
    <message>
      <source>Look again</source>
      <translation>Erneut nachsehen</translation>
    </message>
    <message>
      <source>Look at the findings</source>
      <translation>Befunde ansehen</translation>
    </message>
    <message>
      <source>Look at them</source>
      <translation>Ansehen</translation>
    </message>
    <message>
      <source>Look at {tokens}</source>
      <translation>{tokens} ansehen</translation>
    </message>
    <message>
      <source>Look for a history</source>
      <translation>Verlauf suchen</translation>
    </message>
    <message>
      <source>Look for damage</source>
      <translation>Nach Schäden suchen</translation>
    </message>
    <message>
      <source>Look for damage in this collection</source>
      <translation>In dieser Sammlung nach Schäden suchen</translation>
    </message>
    <message>
      <source>Look for damage in this document</source>
      <translation>In diesem Dokument nach Schäden suchen</translation>
    </message>
    <message>
      <source>Look for damage on {name}{marked}?</source>
      <translation>Auf {name}{marked} nach Schäden suchen?</translation>
    </message>
    <message>
      <source>Look for damage…</source>
      <translation>Nach Schäden suchen…</translation>
    </message>
    <message>
      <source>Looked for again, also in {files} of this program: {again} found.</source>
      <translation>Noch einmal gesucht, auch in {files:dative} dieses Programms: {again} gefunden.</translation>
    </message>
    <message>
      <source>Looked for {writes}: {told}</source>
      <translation>Nachgesehen nach {writes:dative}: {told}</translation>
    </message>
    <message>
      <source>Looked for {writes}: {told}.</source>
      <translation>Nachgesehen nach {writes:dative}: {told}.</translation>
    </message>
    <message>
      <source>Looking at the versions of {id}</source>
      <translation>Die Versionen von {id} werden angesehen</translation>
    </message>
    <message>
      <source>Looking at what would be copied</source>
      <translation>Es wird angesehen, was kopiert würde</translation>
    </message>
    <message>
      <source>Looking at {id}</source>
      <translation>{id} wird angesehen</translation>
    </message>
    <message>
      <source>Looking at {ns}</source>
      <translation>{ns} wird angesehen</translation>
    </message>
    <message>
      <source>Looking for damage</source>
      <translation>Es wird nach Schäden gesucht</translation>
    </message>
    <message>
      <source>Looking for damage in {places}</source>
      <translation>Suche nach Schäden in {places}</translation>
    </message>
    <message>
      <source>Looking for pending tokens</source>
      <translation>Es wird nach offenen Token gesucht</translation>
    </message>
    <message>
      <source>Looking for the last change</source>
      <translation>Die letzte Änderung wird gesucht</translation>
    </message>
    <message>
      <source>Looking for the versions found in {ns}</source>
      <translation>Die in {ns} gefundenen Versionen werden gesucht</translation>
    </message>
    <message>
      <source>Looking for the write</source>
      <translation>Der Schreibvorgang wird gesucht</translation>
    </message>
    <message>
      <source>Looking for versions that may go</source>
      <translation>Versionen suchen, die entfallen dürfen</translation>
    </message>
    <message>
      <source>Looking for who last set each field</source>
      <translation>Es wird gesucht, wer jedes Feld zuletzt gesetzt hat</translation>
    </message>
    <message>
      <source>Looking for writes of unknown outcome</source>
      <translation>Schreibvorgänge mit unbekanntem Ausgang werden gesucht</translation>
    </message>
    <message>
      <source>Looking for {typed} in {ns}</source>
      <translation>{typed} wird in {ns} gesucht</translation>
    </message>
    <message>
      <source>Looking through {id}</source>
      <translation>{id} wird durchsucht</translation>
    </message>
    <message>
      <source>Looking was stopped</source>
      <translation>Die Suche wurde angehalten</translation>
    </message>
    <message>
      <source>Looking where the fields lie</source>
      <translation>Es wird gesucht, wo die Felder liegen</translation>
    </message>
    <message>
      <source>Make A, or some of its fields, a new version</source>
      <translation>A oder einige seiner Felder zum Inhalt einer neuen Version machen</translation>
    </message>
    <message>
      <source>Make it A</source>
      <translation>Zu A machen</translation>
    </message>
    <message>
      <source>Make it B</source>
      <translation>Zu B machen</translation>
    </message>
    <message>
      <source>Mar</source>
      <translation>März</translation>
    </message>
    <message>
      <source>May</source>
      <translation>Mai</translation>
    </message>
    <message>
      <source>Measure</source>
      <translation>Messen</translation>
    </message>
    <message>
      <source>Measuring {name}</source>
      <translation>{name} wird gemessen</translation>
    </message>
    <message>
      <source>Menu of what has the focus</source>
      <translation>Menü des fokussierten Elements</translation>
    </message>
    <message>
      <source>Menus</source>
      <translation>Menüs</translation>
    </message>
    <message>
      <source>Merge your edit</source>
      <translation>Ihre Bearbeitung zusammenführen</translation>
    </message>
    <message>
      <source>Merge: {id}</source>
      <translation>Zusammenführung: {id}</translation>
    </message>
    <message>
      <source>Merged</source>
      <translation>Zusammengeführt</translation>
    </message>
    <message>
      <source>Merging</source>
      <translation>Wird zusammengeführt</translation>
    </message>
    <message>
      <source>Merging again</source>
      <translation>Wird erneut zusammengeführt</translation>
    </message>
    <message>
      <source>Mind the order of {named}</source>
      <translation>Reihenfolge von {named} beachten</translation>
    </message>
    <message>
      <source>MongoDB's own update, or only the fields to set; Enter shows each document as it would be</source>
      <translation>MongoDBs eigenes Update, oder nur die zu setzenden Felder; Enter zeigt jedes Dokument, wie es würde</translation>
    </message>
    <message>
      <source>More</source>
      <translation>Mehr</translation>
    </message>
    <message>
      <source>More menus</source>
      <translation>Weitere Menüs</translation>
    </message>
    <message>
      <source>Most changed</source>
      <translation>Am meisten geändert</translation>
    </message>
    <message>
      <source>Motion</source>
      <translation>Bewegung</translation>
    </message>
    <message>
      <source>Move</source>
      <translation>Verschieben</translation>
    </message>
    <message>
      <source>Move a field</source>
      <translation>Feld verschieben</translation>
    </message>
    <message>
      <source>Move down</source>
      <translation>Nach unten</translation>
    </message>
    <message>
      <source>Move into the field above</source>
      <translation>In das Feld darüber schieben</translation>
    </message>
    <message>
      <source>Move out</source>
      <translation>Herausschieben</translation>
    </message>
    <message>
      <source>Move tab to the left</source>
      <translation>Tab nach links schieben</translation>
    </message>
    <message>
      <source>Move tab to the right</source>
      <translation>Tab nach rechts schieben</translation>
    </message>
    <message>
      <source>Move to another layout</source>
      <translation>In ein anderes Layout umziehen</translation>
    </message>
    <message>
      <source>Move to another layout…</source>
      <translation>In ein anderes Layout umziehen…</translation>
    </message>
    <message>
      <source>Move up</source>
      <translation>Nach oben</translation>
    </message>
    <message>
      <source>Move: {ns}</source>
      <translation>Umzug: {ns}</translation>
    </message>
    <message>
      <source>Moving {ns}</source>
      <translation>{ns} zieht um</translation>
    </message>
    <message>
      <source>Moving {ns} of {name} to another layout</source>
      <translation>{ns} von {name} in ein anderes Layout umziehen</translation>
    </message>
    <message>
      <source>My edits</source>
      <translation>Meine Änderungen</translation>
    </message>
    <message>
      <source>Name</source>
      <translation>Name</translation>
    </message>
    <message>
      <source>Name of the query</source>
      <translation>Name der Abfrage</translation>
    </message>
    <message>
      <source>Name of {name}</source>
      <translation>Name von {name}</translation>
    </message>
    <message>
      <source>Name the new collection as database.collection.</source>
      <translation>Benennen Sie die neue Sammlung als Datenbank.Sammlung.</translation>
    </message>
    <message>
      <source>Narrower columns (−)</source>
      <translation>Schmalere Spalten (−)</translation>
    </message>
    <message>
      <source>Need a person</source>
      <translation>Muss jemand ansehen</translation>
    </message>
    <message>
      <source>Needs an answer below</source>
      <translation>Braucht unten eine Antwort</translation>
    </message>
    <message>
      <source>New</source>
      <translation>Neu</translation>
    </message>
    <message>
      <source>New collection</source>
      <translation>Neue Sammlung</translation>
    </message>
    <message>
      <source>New connection</source>
      <translation>Neue Verbindung</translation>
    </message>
    <message>
      <source>New connection…</source>
      <translation>Neue Verbindung…</translation>
    </message>
    <message>
      <source>New document in {ns}</source>
      <translation>Neues Dokument in {ns}</translation>
    </message>
    <message>
      <source>New document under the next number…</source>
      <translation>Neues Dokument unter der nächsten Nummer…</translation>
    </message>
    <message>
      <source>New document…</source>
      <translation>Neues Dokument…</translation>
    </message>
    <message>
      <source>New tab (Ctrl+T)</source>
      <translation>Neuer Tab (Strg+T)</translation>
    </message>
    <message>
      <source>New tab…</source>
      <translation>Neuer Tab…</translation>
    </message>
    <message>
      <source>New versions cannot be read now</source>
      <translation>Neue Versionen können gerade nicht gelesen werden</translation>
    </message>
    <message>
      <source>New versions could not be read</source>
      <translation>Neue Versionen konnten nicht gelesen werden</translation>
    </message>
    <message>
      <source>New versions of {place} appear here as they come.</source>
      <translation>Neue Versionen von {place} erscheinen hier, sobald sie kommen.</translation>
    </message>
    <message>
      <source>New versions of {place} appear here when the server answers again.</source>
      <translation>Neue Versionen von {place} erscheinen hier, sobald der Server wieder antwortet.</translation>
    </message>
    <message>
      <source>New versions, newest first</source>
      <translation>Neue Versionen, die neueste zuerst</translation>
    </message>
    <message>
      <source>New window</source>
      <translation>Neues Fenster</translation>
    </message>
    <message>
      <source>Next change</source>
      <translation>Nächste Änderung</translation>
    </message>
    <message>
      <source>Next change (Ctrl+Down)</source>
      <translation>Nächste Änderung (Strg+Ab)</translation>
    </message>
    <message>
      <source>Next conflict</source>
      <translation>Nächster Konflikt</translation>
    </message>
    <message>
      <source>Next conflict (Ctrl+PgDown)</source>
      <translation>Nächster Konflikt (Strg+Bild ab)</translation>
    </message>
    <message>
      <source>Next difference</source>
      <translation>Nächster Unterschied</translation>
    </message>
    <message>
      <source>Next page</source>
      <translation>Nächste Seite</translation>
    </message>
    <message>
      <source>Next pane</source>
      <translation>Nächster Bereich</translation>
    </message>
    <message>
      <source>Next tab</source>
      <translation>Nächster Tab</translation>
    </message>
    <message>
      <source>No answer so far</source>
      <translation>Noch keine Antwort</translation>
    </message>
    <message>
      <source>No author is called “{author}”; the name has to match as a whole.</source>
      <translation>Kein Autor heißt „{author}“; der Name muss ganz übereinstimmen.</translation>
    </message>
    <message>
      <source>No change matches</source>
      <translation>Keine Änderung passt</translation>
    </message>
    <message>
      <source>No collection found so far; names are still coming</source>
      <translation>Bisher keine Sammlung gefunden; es kommen noch Namen</translation>
    </message>
    <message>
      <source>No collection has this in its name</source>
      <translation>Keine Sammlung hat das im Namen</translation>
    </message>
    <message>
      <source>No collection is in front</source>
      <translation>Keine Sammlung ist im Vordergrund</translation>
    </message>
    <message>
      <source>No collection is open</source>
      <translation>Keine Sammlung ist offen</translation>
    </message>
    <message>
      <source>No comparison is in front</source>
      <translation>Kein Vergleich ist im Vordergrund</translation>
    </message>
    <message>
      <source>No connection is open</source>
      <translation>Keine Verbindung ist offen</translation>
    </message>
    <message>
      <source>No deleted document is known in {name}</source>
      <translation>In {name} ist kein gelöschtes Dokument bekannt</translation>
    </message>
    <message>
      <source>No document can be read this way</source>
      <translation>So lässt sich kein Dokument lesen</translation>
    </message>
    <message>
      <source>No document is chosen</source>
      <translation>Kein Dokument ist gewählt</translation>
    </message>
    <message>
      <source>No document is open in the editor</source>
      <translation>Im Editor ist kein Dokument offen</translation>
    </message>
    <message>
      <source>No document matches this filter</source>
      <translation>Kein Dokument passt zu diesem Filter</translation>
    </message>
    <message>
      <source>No document that can be read is chosen</source>
      <translation>Kein lesbares Dokument ist gewählt</translation>
    </message>
    <message>
      <source>No field here tells when a version was written.</source>
      <translation>Kein Feld sagt hier, wann eine Version geschrieben wurde.</translation>
    </message>
    <message>
      <source>No field is ticked</source>
      <translation>Kein Feld ist angekreuzt</translation>
    </message>
    <message>
      <source>No field matches</source>
      <translation>Kein Feld passt</translation>
    </message>
    <message>
      <source>No field to follow</source>
      <translation>Kein Feld zu verfolgen</translation>
    </message>
    <message>
      <source>No history was found that fits; state its keys here if you know one.</source>
      <translation>Es wurde kein passender Verlauf gefunden; geben Sie seine Schlüssel hier an, wenn Sie einen kennen.</translation>
    </message>
    <message>
      <source>No index is missing here</source>
      <translation>Hier fehlt kein Index</translation>
    </message>
    <message>
      <source>No list of a collection that keeps earlier versions is in front</source>
      <translation>Es ist keine Liste einer Sammlung vorne, die frühere Versionen aufbewahrt</translation>
    </message>
    <message>
      <source>No list of documents is in front</source>
      <translation>Keine Dokumentliste ist im Vordergrund</translation>
    </message>
    <message>
      <source>No merge is in front</source>
      <translation>Keine Zusammenführung ist im Vordergrund</translation>
    </message>
    <message>
      <source>No other database can be seen</source>
      <translation>Keine andere Datenbank ist sichtbar</translation>
    </message>
    <message>
      <source>No other tab is open</source>
      <translation>Kein anderer Tab ist offen</translation>
    </message>
    <message>
      <source>No page has these words</source>
      <translation>Keine Seite enthält diese Wörter</translation>
    </message>
    <message>
      <source>No query ran here yet</source>
      <translation>Hier lief noch keine Abfrage</translation>
    </message>
    <message>
      <source>No scan of {here} was made from here yet</source>
      <translation>Noch kein Prüflauf von hier aus: {here}</translation>
    </message>
    <message>
      <source>No tab is open</source>
      <translation>Kein Tab ist offen</translation>
    </message>
    <message>
      <source>No tab was closed so far</source>
      <translation>Bisher wurde kein Tab geschlossen</translation>
    </message>
    <message>
      <source>No tasks running</source>
      <translation>Keine Aufgaben laufen</translation>
    </message>
    <message>
      <source>No time was kept</source>
      <translation>Keine Zeit aufbewahrt</translation>
    </message>
    <message>
      <source>No token is pending</source>
      <translation>Kein Token ist offen</translation>
    </message>
    <message>
      <source>No token is that old</source>
      <translation>So alt ist kein Token</translation>
    </message>
    <message>
      <source>No token is that old.</source>
      <translation>So alt ist kein Token.</translation>
    </message>
    <message>
      <source>No token is ticked.</source>
      <translation>Kein Token ist angekreuzt.</translation>
    </message>
    <message>
      <source>No token matches these filters</source>
      <translation>Kein Token passt zu diesen Filtern</translation>
    </message>
    <message>
      <source>No transaction is needed: each document is one guarded write</source>
      <translation>Keine Transaktion nötig: Jedes Dokument ist ein abgesicherter Schreibvorgang</translation>
    </message>
    <message>
      <source>No transaction is needed: each item is one guarded write</source>
      <translation>Keine Transaktion nötig: Jeder Posten ist ein abgesicherter Schreibvorgang</translation>
    </message>
    <message>
      <source>No two versions are compared</source>
      <translation>Es werden keine zwei Versionen verglichen</translation>
    </message>
    <message>
      <source>No version could be read</source>
      <translation>Keine Version war lesbar</translation>
    </message>
    <message>
      <source>No version has a field with “{wanted}” in its name. Look for other words, or show all.</source>
      <translation>In keiner Version gibt es ein Feld mit „{wanted}“ im Namen. Suchen Sie nach etwas anderem, oder zeigen Sie alle.</translation>
    </message>
    <message>
      <source>No version is there before it.</source>
      <translation>Davor gibt es keine Version.</translation>
    </message>
    <message>
      <source>No version of this document is there</source>
      <translation>Von diesem Dokument ist keine Version da</translation>
    </message>
    <message>
      <source>No versions recognised</source>
      <translation>Keine Versionen erkannt</translation>
    </message>
    <message>
      <source>None here</source>
      <translation>Hier keiner</translation>
    </message>
    <message>
      <source>None now; some in between</source>
      <translation>Jetzt keine; dazwischen gab es welche</translation>
    </message>
    <message>
      <source>None of its versions is as old as {then}.</source>
      <translation>Keine seiner Versionen ist so alt wie {then}.</translation>
    </message>
    <message>
      <source>None of its versions is stored any more.</source>
      <translation>Keine seiner Versionen ist noch gespeichert.</translation>
    </message>
    <message>
      <source>Normal</source>
      <translation>Normal</translation>
    </message>
    <message>
      <source>Not checked: {most}.</source>
      <translation>Nicht geprüft: {most}.</translation>
    </message>
    <message>
      <source>Not connected</source>
      <translation>Nicht verbunden</translation>
    </message>
    <message>
      <source>Not exact as {kind}: it would be {made}. Type the value you mean.</source>
      <translation>Als {kind} nicht genau: Es würde {made}. Geben Sie den gemeinten Wert ein.</translation>
    </message>
    <message>
      <source>Not known</source>
      <translation>Nicht bekannt</translation>
    </message>
    <message>
      <source>Not measured</source>
      <translation>Nicht gemessen</translation>
    </message>
    <message>
      <source>Not now</source>
      <translation>Nicht jetzt</translation>
    </message>
    <message>
      <source>Not reached from here: {places}.</source>
      <translation>Von hier aus nicht erreicht: {places}.</translation>
    </message>
    <message>
      <source>Not tried</source>
      <translation>Nicht versucht</translation>
    </message>
    <message>
      <source>Not used so far: {unused}.</source>
      <translation>Bisher nicht benutzt: {unused}.</translation>
    </message>
    <message>
      <source>Nothing can be imported</source>
      <translation>Nichts lässt sich importieren</translation>
    </message>
    <message>
      <source>Nothing could be checked</source>
      <translation>Nichts ließ sich prüfen</translation>
    </message>
    <message>
      <source>Nothing differs</source>
      <translation>Nichts unterscheidet sich</translation>
    </message>
    <message>
      <source>Nothing differs from what is in the database.</source>
      <translation>Nichts unterscheidet sich vom Stand der Datenbank.</translation>
    </message>
    <message>
      <source>Nothing found</source>
      <translation>Nichts gefunden</translation>
    </message>
    <message>
      <source>Nothing has been written yet.</source>
      <translation>Noch wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Nothing has been written yet. What is written is in the journal.</source>
      <translation>Noch wurde nichts geschrieben. Was geschrieben wird, steht im Journal.</translation>
    </message>
    <message>
      <source>Nothing has been written yet. Writes can be undone from the journal.</source>
      <translation>Noch wurde nichts geschrieben. Im Journal lässt sich alles rückgängig machen.</translation>
    </message>
    <message>
      <source>Nothing has been written.</source>
      <translation>Es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Nothing has “{wanted}” in its name, version or author.</source>
      <translation>Nichts hat „{wanted}“ im Namen, in der Version oder im Autor.</translation>
    </message>
    <message>
      <source>Nothing is called that</source>
      <translation>So heißt nichts</translation>
    </message>
    <message>
      <source>Nothing is changed</source>
      <translation>Nichts ist geändert</translation>
    </message>
    <message>
      <source>Nothing is changed yet. What you change is listed here.</source>
      <translation>Noch ist nichts geändert. Was Sie ändern, steht dann hier.</translation>
    </message>
    <message>
      <source>Nothing is changed, so nothing is sent.</source>
      <translation>Nichts ist geändert, also wird nichts gesendet.</translation>
    </message>
    <message>
      <source>Nothing is compared yet</source>
      <translation>Noch wird nichts verglichen</translation>
    </message>
    <message>
      <source>Nothing is compared yet.</source>
      <translation>Noch wird nichts verglichen.</translation>
    </message>
    <message>
      <source>Nothing is measured until you ask</source>
      <translation>Gemessen wird erst, wenn Sie es verlangen</translation>
    </message>
    <message>
      <source>Nothing is stored here</source>
      <translation>Hier ist nichts gespeichert</translation>
    </message>
    <message>
      <source>Nothing is ticked.</source>
      <translation>Nichts ist angekreuzt.</translation>
    </message>
    <message>
      <source>Nothing is written until you save or apply</source>
      <translation>Nichts wird geschrieben, bis Sie speichern oder anwenden</translation>
    </message>
    <message>
      <source>Nothing is written until you save or apply, and every write is guarded.{marked}</source>
      <translation>Nichts wird geschrieben, bis Sie speichern oder anwenden, und jeder Schreibvorgang ist abgesichert.{marked}</translation>
    </message>
    <message>
      <source>Nothing is wrong here</source>
      <translation>Hier ist alles in Ordnung</translation>
    </message>
    <message>
      <source>Nothing of {run} is left to undo</source>
      <translation>Von {run} ist nichts mehr rückgängig zu machen</translation>
    </message>
    <message>
      <source>Nothing tells who deleted it, or when.</source>
      <translation>Nichts sagt, wer es gelöscht hat, oder wann.</translation>
    </message>
    <message>
      <source>Nothing to decide</source>
      <translation>Nichts zu entscheiden</translation>
    </message>
    <message>
      <source>Nothing to replace here</source>
      <translation>Hier gibt es nichts zu ersetzen</translation>
    </message>
    <message>
      <source>Nothing to take back</source>
      <translation>Nichts zurückzunehmen</translation>
    </message>
    <message>
      <source>Nothing to undo</source>
      <translation>Nichts rückgängig zu machen</translation>
    </message>
    <message>
      <source>Nothing was changed here</source>
      <translation>Hier wurde nichts geändert</translation>
    </message>
    <message>
      <source>Nothing was ever found here</source>
      <translation>Hier wurde nie etwas gefunden</translation>
    </message>
    <message>
      <source>Nothing was found so far</source>
      <translation>Bisher wurde nichts gefunden</translation>
    </message>
    <message>
      <source>Nothing was read.</source>
      <translation>Es wurde nichts gelesen.</translation>
    </message>
    <message>
      <source>Nothing was saved.</source>
      <translation>Es wurde nichts gespeichert.</translation>
    </message>
    <message>
      <source>Nothing was saved. {sentence}</source>
      <translation>Es wurde nichts gespeichert. {sentence}</translation>
    </message>
    <message>
      <source>Nothing was there to erase.</source>
      <translation>Es gab nichts zu löschen.</translation>
    </message>
    <message>
      <source>Nothing was written to {name} from here</source>
      <translation>Von hier aus wurde nichts nach {name} geschrieben</translation>
    </message>
    <message>
      <source>Nothing was written yet</source>
      <translation>Noch wurde nichts geschrieben</translation>
    </message>
    <message>
      <source>Nothing was written.</source>
      <translation>Es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Nothing would be written to {name}</source>
      <translation>In {name} würde nichts geschrieben</translation>
    </message>
    <message>
      <source>Nov</source>
      <translation>Nov.</translation>
    </message>
    <message>
      <source>Now</source>
      <translation>Jetzt</translation>
    </message>
    <message>
      <source>Numbers by value</source>
      <translation>Zahlen nach Wert</translation>
    </message>
    <message>
      <source>Numbers that you do not touch keep their type.</source>
      <translation>Zahlen, die Sie nicht anfassen, behalten ihren Typ.</translation>
    </message>
    <message>
      <source>O&amp;ld UUIDs</source>
      <translation>A&amp;lte UUIDs</translation>
    </message>
    <message>
      <source>Oct</source>
      <translation>Okt.</translation>
    </message>
    <message>
      <source>Of which collection the tokens shown are</source>
      <translation>Aus welcher Sammlung die gezeigten Token sind</translation>
    </message>
    <message>
      <source>Offered, not proven: {said}</source>
      <translation>Angeboten, nicht bewiesen: {said}</translation>
    </message>
    <message>
      <source>Older ones</source>
      <translation>Ältere</translation>
    </message>
    <message>
      <source>Older than 1 h</source>
      <translation>Älter als 1 h</translation>
    </message>
    <message>
      <source>Older than 24 h</source>
      <translation>Älter als 24 h</translation>
    </message>
    <message>
      <source>Older than 7 days</source>
      <translation>Älter als 7 Tage</translation>
    </message>
    <message>
      <source>On this system only installers add programs to the menus</source>
      <translation>Auf diesem System fügen nur Installer den Menüs Programme hinzu</translation>
    </message>
    <message>
      <source>One field</source>
      <translation>Ein Feld</translation>
    </message>
    <message>
      <source>One file, a line for each version</source>
      <translation>Eine Datei, eine Zeile für jede Version</translation>
    </message>
    <message>
      <source>One of the texts is still in {file}, perhaps of another document.</source>
      <translation>Einer der Texte steht noch in {file}, vielleicht von einem anderen Dokument.</translation>
    </message>
    <message>
      <source>One scan so far</source>
      <translation>Bisher ein Prüflauf</translation>
    </message>
    <message>
      <source>One version is shown by itself</source>
      <translation>Eine Version wird für sich gezeigt</translation>
    </message>
    <message>
      <source>One version is shown by itself.</source>
      <translation>Eine Version wird für sich gezeigt.</translation>
    </message>
    <message>
      <source>One write adds the entry to the list and raises the total. An entry that is already there is not counted again.</source>
      <translation>Ein Schreibvorgang fügt den Eintrag in die Liste ein und erhöht die Summe. Ein Eintrag, der schon da ist, zählt nicht noch einmal.</translation>
    </message>
    <message>
      <source>Only by {author}</source>
      <translation>Nur von {author}</translation>
    </message>
    <message>
      <source>Only changes</source>
      <translation>Nur Änderungen</translation>
    </message>
    <message>
      <source>Only changes of {path}</source>
      <translation>Nur Änderungen von {path}</translation>
    </message>
    <message>
      <source>Only documents of the sample have a colleague</source>
      <translation>Nur die Dokumente des Beispiels haben einen Kollegen</translation>
    </message>
    <message>
      <source>Only the database</source>
      <translation>Nur die Datenbank</translation>
    </message>
    <message>
      <source>Only the database {named}</source>
      <translation>Nur die Datenbank {named}</translation>
    </message>
    <message>
      <source>Only the list</source>
      <translation>Nur die Liste</translation>
    </message>
    <message>
      <source>Only the list, without history and comparison</source>
      <translation>Nur die Liste, ohne Verlauf und Vergleich</translation>
    </message>
    <message>
      <source>Only these fields</source>
      <translation>Nur diese Felder</translation>
    </message>
    <message>
      <source>Only types or order changed since you opened it</source>
      <translation>Seit Sie es geöffnet haben, änderten sich nur Typen oder Reihenfolge</translation>
    </message>
    <message>
      <source>Only what matches</source>
      <translation>Nur was passt auf</translation>
    </message>
    <message>
      <source>Only you</source>
      <translation>Nur Sie</translation>
    </message>
    <message>
      <source>Open</source>
      <translation>Öffnen</translation>
    </message>
    <message>
      <source>Open a collection in a new tab</source>
      <translation>Sammlung in neuem Tab öffnen</translation>
    </message>
    <message>
      <source>Open a dump file</source>
      <translation>Dump-Datei öffnen</translation>
    </message>
    <message>
      <source>Open a dump file…</source>
      <translation>Dump-Datei öffnen…</translation>
    </message>
    <message>
      <source>Open a dump or file…</source>
      <translation>Dump oder Datei öffnen…</translation>
    </message>
    <message>
      <source>Open a dump's folder</source>
      <translation>Ordner eines Dumps öffnen</translation>
    </message>
    <message>
      <source>Open a dump's folder…</source>
      <translation>Ordner eines Dumps öffnen…</translation>
    </message>
    <message>
      <source>Open a plan</source>
      <translation>Plan öffnen</translation>
    </message>
    <message>
      <source>Open a plan…</source>
      <translation>Plan öffnen…</translation>
    </message>
    <message>
      <source>Open again</source>
      <translation>Wieder öffnen</translation>
    </message>
    <message>
      <source>Open in a new tab</source>
      <translation>In neuem Tab öffnen</translation>
    </message>
    <message>
      <source>Open into memory</source>
      <translation>In den Speicher laden</translation>
    </message>
    <message>
      <source>Open it again</source>
      <translation>Wieder öffnen</translation>
    </message>
    <message>
      <source>Open the closed tab again</source>
      <translation>Geschlossenen Tab wieder öffnen</translation>
    </message>
    <message>
      <source>Open the document</source>
      <translation>Dokument öffnen</translation>
    </message>
    <message>
      <source>Open the journal</source>
      <translation>Journal öffnen</translation>
    </message>
    <message>
      <source>Open the sample</source>
      <translation>Beispiel öffnen</translation>
    </message>
    <message>
      <source>Open {name}</source>
      <translation>{name} öffnen</translation>
    </message>
    <message>
      <source>Open {name} into memory?</source>
      <translation>{name} in den Speicher laden?</translation>
    </message>
    <message>
      <source>Opened {was}</source>
      <translation>Geöffnet {was}</translation>
    </message>
    <message>
      <source>Opening</source>
      <translation>Wird geöffnet:</translation>
    </message>
    <message>
      <source>Opening {id}</source>
      <translation>{id} wird geöffnet</translation>
    </message>
    <message>
      <source>Opening {title}</source>
      <translation>{title} wird geöffnet</translation>
    </message>
    <message>
      <source>Operation</source>
      <translation>Operation</translation>
    </message>
    <message>
      <source>Order</source>
      <translation>Sortierung</translation>
    </message>
    <message>
      <source>Order of fields: {}</source>
      <translation>Reihenfolge der Felder: {}</translation>
    </message>
    <message>
      <source>Order of old UUIDs</source>
      <translation>Reihenfolge alter UUIDs</translation>
    </message>
    <message>
      <source>Order, columns and limits</source>
      <translation>Sortierung, Spalten und Grenzen</translation>
    </message>
    <message>
      <source>Order, columns and limits…</source>
      <translation>Sortierung, Spalten und Grenzen…</translation>
    </message>
    <message>
      <source>Other databases</source>
      <translation>Andere Datenbanken</translation>
    </message>
    <message>
      <source>Over the scans</source>
      <translation>Über die Prüfläufe</translation>
    </message>
    <message>
      <source>Over time</source>
      <translation>Über die Zeit</translation>
    </message>
    <message>
      <source>Overview of the changes</source>
      <translation>Überblick der Änderungen</translation>
    </message>
    <message>
      <source>Overwrite</source>
      <translation>Überschreiben</translation>
    </message>
    <message>
      <source>Overwrite what is in the database with your edit?</source>
      <translation>Den Stand der Datenbank mit Ihrer Bearbeitung überschreiben?</translation>
    </message>
    <message>
      <source>Overwrite {fields}</source>
      <translation>{fields} überschreiben</translation>
    </message>
    <message>
      <source>Overwrite {now} with your edit?</source>
      <translation>{now} mit Ihrer Bearbeitung überschreiben?</translation>
    </message>
    <message>
      <source>Overwrite…</source>
      <translation>Überschreiben…</translation>
    </message>
    <message>
      <source>Owner</source>
      <translation>Besitzer</translation>
    </message>
    <message>
      <source>PNG picture (*.png)</source>
      <translation>PNG-Bild (*.png)</translation>
    </message>
    <message>
      <source>Pace</source>
      <translation>Tempo</translation>
    </message>
    <message>
      <source>Page {page}</source>
      <translation>Seite {page}</translation>
    </message>
    <message>
      <source>Page {page} of {pages}</source>
      <translation>Seite {page} von {pages}</translation>
    </message>
    <message>
      <source>Pair by</source>
      <translation>Paaren nach</translation>
    </message>
    <message>
      <source>Palimpsest is in the menus, and BSON files open with it</source>
      <translation>Palimpsest ist in den Menüs, und BSON-Dateien öffnen sich damit</translation>
    </message>
    <message>
      <source>Palimpsest is removed from the menus</source>
      <translation>Palimpsest ist aus den Menüs entfernt</translation>
    </message>
    <message>
      <source>Pass&amp;word</source>
      <translation>Pass&amp;wort</translation>
    </message>
    <message>
      <source>Password</source>
      <translation>Passwort</translation>
    </message>
    <message>
      <source>Password (SCRAM-SHA-1)</source>
      <translation>Passwort (SCRAM-SHA-1)</translation>
    </message>
    <message>
      <source>Password (SCRAM-SHA-256)</source>
      <translation>Passwort (SCRAM-SHA-256)</translation>
    </message>
    <message>
      <source>Password for {title}</source>
      <translation>Passwort für {title}</translation>
    </message>
    <message>
      <source>Password of the client's key</source>
      <translation>Passwort des Client-Schlüssels</translation>
    </message>
    <message>
      <source>Paste documents…</source>
      <translation>Dokumente einfügen…</translation>
    </message>
    <message>
      <source>Pause</source>
      <translation>Pause</translation>
    </message>
    <message>
      <source>Pending tokens</source>
      <translation>Offene Token</translation>
    </message>
    <message>
      <source>Pick any two versions on the timeline: a click sets B, a click with Shift sets A. Ctrl+Up and Ctrl+Down go through the changes.</source>
      <translation>Wählen Sie zwei Versionen auf der Zeitleiste: Ein Klick setzt B, ein Klick mit Umschalt setzt A. Strg+Auf und Strg+Ab gehen durch die Änderungen.</translation>
    </message>
    <message>
      <source>Pick changes first, with Ctrl or Shift held down for several.</source>
      <translation>Wählen Sie zuerst Änderungen aus, mehrere mit gedrückter Strg- oder Umschalttaste.</translation>
    </message>
    <message>
      <source>Pick several documents first, with Ctrl or Shift held down</source>
      <translation>Wählen Sie zuerst mehrere Dokumente, mit gehaltener Strg- oder Umschalttaste</translation>
    </message>
    <message>
      <source>Pick two documents first, with Ctrl held down</source>
      <translation>Wählen Sie zuerst zwei Dokumente, mit gehaltener Strg-Taste</translation>
    </message>
    <message>
      <source>Picture, {width} by {height} pixels</source>
      <translation>Bild, {width} mal {height} Pixel</translation>
    </message>
    <message>
      <source>Plans (*.json)</source>
      <translation>Pläne (*.json)</translation>
    </message>
    <message>
      <source>Plans (*.json);;All files (*)</source>
      <translation>Pläne (*.json);;Alle Dateien (*)</translation>
    </message>
    <message>
      <source>Possible words</source>
      <translation>Mögliche Wörter</translation>
    </message>
    <message>
      <source>Press to allow writes</source>
      <translation>Drücken, um Schreiben zu erlauben</translation>
    </message>
    <message>
      <source>Press to make this connection read-only</source>
      <translation>Drücken, um diese Verbindung zu schützen</translation>
    </message>
    <message>
      <source>Press, or tick</source>
      <translation>Drücken oder ankreuzen</translation>
    </message>
    <message>
      <source>Preview</source>
      <translation>Vorschau</translation>
    </message>
    <message>
      <source>Previous change</source>
      <translation>Vorige Änderung</translation>
    </message>
    <message>
      <source>Previous change (Ctrl+Up)</source>
      <translation>Vorige Änderung (Strg+Auf)</translation>
    </message>
    <message>
      <source>Previous conflict</source>
      <translation>Voriger Konflikt</translation>
    </message>
    <message>
      <source>Previous conflict (Ctrl+PgUp)</source>
      <translation>Voriger Konflikt (Strg+Bild auf)</translation>
    </message>
    <message>
      <source>Previous difference</source>
      <translation>Voriger Unterschied</translation>
    </message>
    <message>
      <source>Previous page</source>
      <translation>Vorige Seite</translation>
    </message>
    <message>
      <source>Previous pane</source>
      <translation>Voriger Bereich</translation>
    </message>
    <message>
      <source>Previous tab</source>
      <translation>Voriger Tab</translation>
    </message>
    <message>
      <source>Pro&amp;file</source>
      <translation>Pro&amp;fil</translation>
    </message>
    <message>
      <source>Process an entry in {ns}</source>
      <translation>Eintrag verarbeiten in {ns}</translation>
    </message>
    <message>
      <source>Process an entry…</source>
      <translation>Eintrag verarbeiten…</translation>
    </message>
    <message>
      <source>Process once</source>
      <translation>Einmal verarbeiten</translation>
    </message>
    <message>
      <source>Processing</source>
      <translation>Wird verarbeitet</translation>
    </message>
    <message>
      <source>Production: deleting asks for the name to be typed</source>
      <translation>Produktion: Löschen verlangt, den Namen einzutippen</translation>
    </message>
    <message>
      <source>Profile</source>
      <translation>Profil</translation>
    </message>
    <message>
      <source>Profile {name}</source>
      <translation>Profil {name}</translation>
    </message>
    <message>
      <source>Profiles (*.toml)</source>
      <translation>Profile (*.toml)</translation>
    </message>
    <message>
      <source>Proof</source>
      <translation>Beleg</translation>
    </message>
    <message>
      <source>Properties</source>
      <translation>Eigenschaften</translation>
    </message>
    <message>
      <source>Proven</source>
      <translation>Belegt</translation>
    </message>
    <message>
      <source>Purge 1 document with all versions</source>
      <translation>1 Dokument mit allen Versionen löschen</translation>
    </message>
    <message>
      <source>Purge with all versions…</source>
      <translation>Mit allen Versionen endgültig löschen…</translation>
    </message>
    <message>
      <source>Purge {name}?</source>
      <translation>{name} endgültig löschen?</translation>
    </message>
    <message>
      <source>Purging {id}</source>
      <translation>{id} wird endgültig gelöscht</translation>
    </message>
    <message>
      <source>Putting the changes into words</source>
      <translation>Die Änderungen werden in Worte gefasst</translation>
    </message>
    <message>
      <source>Python</source>
      <translation>Python</translation>
    </message>
    <message>
      <source>Qt</source>
      <translation>Qt</translation>
    </message>
    <message>
      <source>Quit</source>
      <translation>Beenden</translation>
    </message>
    <message>
      <source>Raise by</source>
      <translation>Erhöhen um</translation>
    </message>
    <message>
      <source>Read again</source>
      <translation>Erneut lesen</translation>
    </message>
    <message>
      <source>Read on</source>
      <translation>Weiterlesen</translation>
    </message>
    <message>
      <source>Read the collections again</source>
      <translation>Sammlungen neu lesen</translation>
    </message>
    <message>
      <source>Read {name} by the profile {file}?</source>
      <translation>{name} nach dem Profil {file} lesen?</translation>
    </message>
    <message>
      <source>Read, compare and mend every version of a MongoDB document.</source>
      <translation>Jede Version eines MongoDB-Dokuments lesen, vergleichen und heilen.</translation>
    </message>
    <message>
      <source>Read-only: nothing can be written</source>
      <translation>Schreibgeschützt: Es kann nichts geschrieben werden</translation>
    </message>
    <message>
      <source>Read-only: nothing is written</source>
      <translation>Schreibgeschützt: Es wird nichts geschrieben</translation>
    </message>
    <message>
      <source>Reading JSON</source>
      <translation>JSON wird gelesen</translation>
    </message>
    <message>
      <source>Reading a version</source>
      <translation>Eine Version wird gelesen</translation>
    </message>
    <message>
      <source>Reading collections</source>
      <translation>Sammlungen werden gelesen</translation>
    </message>
    <message>
      <source>Reading documents</source>
      <translation>Dokumente werden gelesen</translation>
    </message>
    <message>
      <source>Reading histories of {ns}</source>
      <translation>Die Verläufe von {ns} werden gelesen</translation>
    </message>
    <message>
      <source>Reading the activity of {place}</source>
      <translation>Aktivität von {place} wird gelesen</translation>
    </message>
    <message>
      <source>Reading the collections of {name}</source>
      <translation>Die Sammlungen von {name} werden gelesen</translation>
    </message>
    <message>
      <source>Reading the documents</source>
      <translation>Die Dokumente werden gelesen</translation>
    </message>
    <message>
      <source>Reading the drafts</source>
      <translation>Die Entwürfe werden gelesen</translation>
    </message>
    <message>
      <source>Reading the fields of {id}</source>
      <translation>Die Felder von {id} werden gelesen</translation>
    </message>
    <message>
      <source>Reading the fields of {ns}</source>
      <translation>Die Felder von {ns} werden gelesen</translation>
    </message>
    <message>
      <source>Reading the fields…</source>
      <translation>Die Felder werden gelesen…</translation>
    </message>
    <message>
      <source>Reading the journal</source>
      <translation>Das Journal wird gelesen</translation>
    </message>
    <message>
      <source>Reading the manual</source>
      <translation>Das Handbuch wird gelesen</translation>
    </message>
    <message>
      <source>Reading the versions of {id}</source>
      <translation>Die Versionen von {id} werden gelesen</translation>
    </message>
    <message>
      <source>Reading three documents</source>
      <translation>Drei Dokumente werden gelesen</translation>
    </message>
    <message>
      <source>Reading three documents of {ns}</source>
      <translation>Drei Dokumente von {ns} werden gelesen</translation>
    </message>
    <message>
      <source>Reading two documents</source>
      <translation>Zwei Dokumente werden gelesen</translation>
    </message>
    <message>
      <source>Reading versions of {id}</source>
      <translation>Versionen von {id} werden gelesen</translation>
    </message>
    <message>
      <source>Reading versions of {name}{so_far}</source>
      <translation>Versionen von {name} werden gelesen{so_far}</translation>
    </message>
    <message>
      <source>Reading was stopped</source>
      <translation>Das Lesen wurde angehalten</translation>
    </message>
    <message>
      <source>Reading was stopped, so there may be more.</source>
      <translation>Das Lesen wurde angehalten, es kann also mehr geben.</translation>
    </message>
    <message>
      <source>Reading was stopped: these are not all changes.</source>
      <translation>Das Lesen wurde angehalten: Das sind nicht alle Änderungen.</translation>
    </message>
    <message>
      <source>Reading was stopped; the oldest versions are not in the map</source>
      <translation>Das Lesen wurde angehalten; die ältesten Versionen fehlen in der Karte</translation>
    </message>
    <message>
      <source>Reading was stopped; these changes were read before it.</source>
      <translation>Das Lesen wurde angehalten; diese Änderungen wurden vorher gelesen.</translation>
    </message>
    <message>
      <source>Reading was stopped; these rows were read before it.</source>
      <translation>Das Lesen wurde angehalten; diese Zeilen wurden vorher gelesen.</translation>
    </message>
    <message>
      <source>Reading was stopped; this was read before it.</source>
      <translation>Das Lesen wurde angehalten; dies wurde vorher gelesen.</translation>
    </message>
    <message>
      <source>Reading what changed</source>
      <translation>Es wird gelesen, was sich geändert hat</translation>
    </message>
    <message>
      <source>Reading what was kept of the scans</source>
      <translation>Die Aufzeichnungen der Prüfläufe werden gelesen</translation>
    </message>
    <message>
      <source>Reading {b}</source>
      <translation>{b} wird gelesen</translation>
    </message>
    <message>
      <source>Reading {documents}</source>
      <translation>{documents} werden gelesen</translation>
    </message>
    <message>
      <source>Reading {id}</source>
      <translation>{id} wird gelesen</translation>
    </message>
    <message>
      <source>Reading {name}</source>
      <translation>{name} wird gelesen</translation>
    </message>
    <message>
      <source>Reading {name} was stopped: only its first documents are here.</source>
      <translation>Das Lesen von {name} wurde angehalten: nur die ersten Dokumente sind da.</translation>
    </message>
    <message>
      <source>Reading {ns}</source>
      <translation>{ns} wird gelesen</translation>
    </message>
    <message>
      <source>Reading {ns} as {name}</source>
      <translation>{ns} wird als {name} gelesen</translation>
    </message>
    <message>
      <source>Reading {ns}; these rows are still as of {then}</source>
      <translation>{ns} wird gelesen; diese Zeilen zeigen noch den Stand: {then}</translation>
    </message>
    <message>
      <source>Reading {source}</source>
      <translation>{source} wird gelesen</translation>
    </message>
    <message>
      <source>Reading {title}</source>
      <translation>{title} wird gelesen</translation>
    </message>
    <message>
      <source>Reading {v}</source>
      <translation>{v} wird gelesen</translation>
    </message>
    <message>
      <source>Reads, compares and mends every version of a MongoDB document. Every write is guarded, journalled and can be undone.</source>
      <translation>Liest, vergleicht und heilt jede Version eines MongoDB-Dokuments. Jeder Schreibvorgang ist abgesichert, steht im Journal und lässt sich rückgängig machen.</translation>
    </message>
    <message>
      <source>Reason</source>
      <translation>Grund</translation>
    </message>
    <message>
      <source>Reason for this write, if you like</source>
      <translation>Grund für dieses Schreiben, wenn Sie mögen</translation>
    </message>
    <message>
      <source>Reason, if you like</source>
      <translation>Grund, wenn Sie mögen</translation>
    </message>
    <message>
      <source>Recent connections</source>
      <translation>Letzte Verbindungen</translation>
    </message>
    <message>
      <source>Redo</source>
      <translation>Wiederholen</translation>
    </message>
    <message>
      <source>Reduced</source>
      <translation>Reduziert</translation>
    </message>
    <message>
      <source>Reduced: only progress moves.</source>
      <translation>Reduziert: Nur der Fortschritt bewegt sich.</translation>
    </message>
    <message>
      <source>Refresh</source>
      <translation>Aktualisieren</translation>
    </message>
    <message>
      <source>Refuse editing</source>
      <translation>Bearbeiten ablehnen</translation>
    </message>
    <message>
      <source>Refused</source>
      <translation>Abgelehnt</translation>
    </message>
    <message>
      <source>Relaxed</source>
      <translation>Locker</translation>
    </message>
    <message>
      <source>Remember a document, or a version of one, first</source>
      <translation>Merken Sie zuerst ein Dokument oder eine Version davon</translation>
    </message>
    <message>
      <source>Remember for a comparison</source>
      <translation>Für einen Vergleich merken</translation>
    </message>
    <message>
      <source>Remember {name} for a comparison</source>
      <translation>{name} für einen Vergleich merken</translation>
    </message>
    <message>
      <source>Remove</source>
      <translation>Entfernen</translation>
    </message>
    <message>
      <source>Remove Palimpsest from the desktop's menus?</source>
      <translation>Palimpsest aus den Menüs der Arbeitsumgebung entfernen?</translation>
    </message>
    <message>
      <source>Remove earlier versions</source>
      <translation>Frühere Versionen entfernen</translation>
    </message>
    <message>
      <source>Remove earlier versions…</source>
      <translation>Frühere Versionen entfernen…</translation>
    </message>
    <message>
      <source>Remove from the menus</source>
      <translation>Aus den Menüs entfernen</translation>
    </message>
    <message>
      <source>Remove version A…</source>
      <translation>Version A entfernen…</translation>
    </message>
    <message>
      <source>Remove versions of {documents}</source>
      <translation>Versionen entfernen: {documents}</translation>
    </message>
    <message>
      <source>Remove {name}?</source>
      <translation>{name} entfernen?</translation>
    </message>
    <message>
      <source>Remove {version}</source>
      <translation>{version} entfernen</translation>
    </message>
    <message>
      <source>Removed</source>
      <translation>Entfernt</translation>
    </message>
    <message>
      <source>Removed versions of {documents}</source>
      <translation>Versionen entfernt: {documents}</translation>
    </message>
    <message>
      <source>Removing versions</source>
      <translation>Versionen werden entfernt</translation>
    </message>
    <message>
      <source>Removing {version}</source>
      <translation>{version} wird entfernt</translation>
    </message>
    <message>
      <source>Rename</source>
      <translation>Umbenennen</translation>
    </message>
    <message>
      <source>Repair</source>
      <translation>Reparieren</translation>
    </message>
    <message>
      <source>Repair {findings}</source>
      <translation>Reparieren: {findings}</translation>
    </message>
    <message>
      <source>Repairing: {done} of {findings} so far.</source>
      <translation>Repariert wird: {done} von {findings:dative} bisher.</translation>
    </message>
    <message>
      <source>Repairs</source>
      <translation>Reparaturen</translation>
    </message>
    <message>
      <source>Replace</source>
      <translation>Ersetzen</translation>
    </message>
    <message>
      <source>Replace all</source>
      <translation>Alle ersetzen</translation>
    </message>
    <message>
      <source>Replace with</source>
      <translation>Ersetzen durch</translation>
    </message>
    <message>
      <source>Replaced in {fields}</source>
      <translation>Ersetzt in {fields:dative}</translation>
    </message>
    <message>
      <source>Replace…</source>
      <translation>Ersetzen…</translation>
    </message>
    <message>
      <source>Report</source>
      <translation>Bericht</translation>
    </message>
    <message>
      <source>Report:  </source>
      <translation>Bericht:  </translation>
    </message>
    <message>
      <source>Report…</source>
      <translation>Bericht…</translation>
    </message>
    <message>
      <source>Reset</source>
      <translation>Zurücksetzen</translation>
    </message>
    <message>
      <source>Resource</source>
      <translation>Ressource</translation>
    </message>
    <message>
      <source>Restore from A…</source>
      <translation>Aus A wiederherstellen…</translation>
    </message>
    <message>
      <source>Restore this value…</source>
      <translation>Diesen Wert wiederherstellen…</translation>
    </message>
    <message>
      <source>Restore {changes}</source>
      <translation>Wiederherstellen: {changes}</translation>
    </message>
    <message>
      <source>Restore {name} from A…</source>
      <translation>{name} aus A wiederherstellen…</translation>
    </message>
    <message>
      <source>Restore {name}…</source>
      <translation>{name} wiederherstellen…</translation>
    </message>
    <message>
      <source>Restore {old} of {name}?</source>
      <translation>{old} von {name} wiederherstellen?</translation>
    </message>
    <message>
      <source>Restore…</source>
      <translation>Wiederherstellen…</translation>
    </message>
    <message>
      <source>Restoring {v}</source>
      <translation>{v} wird wiederhergestellt</translation>
    </message>
    <message>
      <source>Result</source>
      <translation>Ergebnis</translation>
    </message>
    <message>
      <source>Result as Extended JSON</source>
      <translation>Ergebnis als Extended JSON</translation>
    </message>
    <message>
      <source>Result as {}</source>
      <translation>Ergebnis als {}</translation>
    </message>
    <message>
      <source>Revert</source>
      <translation>Zurück</translation>
    </message>
    <message>
      <source>Revert all</source>
      <translation>Alles zurücksetzen</translation>
    </message>
    <message>
      <source>Revert this field</source>
      <translation>Dieses Feld zurücksetzen</translation>
    </message>
    <message>
      <source>Review</source>
      <translation>Prüfen</translation>
    </message>
    <message>
      <source>Review and merge</source>
      <translation>Zusammenführen</translation>
    </message>
    <message>
      <source>Roomy</source>
      <translation>Geräumig</translation>
    </message>
    <message>
      <source>Rows of a list</source>
      <translation>Zeilen einer Liste</translation>
    </message>
    <message>
      <source>Run</source>
      <translation>Ausführen</translation>
    </message>
    <message>
      <source>Run the query</source>
      <translation>Abfrage ausführen</translation>
    </message>
    <message>
      <source>SHA-1 {hash}</source>
      <translation>SHA-1 {hash}</translation>
    </message>
    <message>
      <source>Save</source>
      <translation>Speichern</translation>
    </message>
    <message>
      <source>Save   Ctrl+S</source>
      <translation>Speichern   Strg+S</translation>
    </message>
    <message>
      <source>Save as a new document</source>
      <translation>Als neues Dokument</translation>
    </message>
    <message>
      <source>Save as profile</source>
      <translation>Als Profil speichern</translation>
    </message>
    <message>
      <source>Save as profile…</source>
      <translation>Als Profil speichern…</translation>
    </message>
    <message>
      <source>Save as {following}</source>
      <translation>Als {following} speichern</translation>
    </message>
    <message>
      <source>Save as…</source>
      <translation>Speichern unter…</translation>
    </message>
    <message>
      <source>Save my edit</source>
      <translation>Meine Bearbeitung speichern</translation>
    </message>
    <message>
      <source>Save over what is in the database, unless it changed again (Ctrl+S)</source>
      <translation>Über den Stand der Datenbank speichern, sofern er sich nicht wieder geändert hat (Strg+S)</translation>
    </message>
    <message>
      <source>Save over {now}</source>
      <translation>Über {now} speichern</translation>
    </message>
    <message>
      <source>Save picture…</source>
      <translation>Bild speichern…</translation>
    </message>
    <message>
      <source>Save report…</source>
      <translation>Bericht speichern…</translation>
    </message>
    <message>
      <source>Save the certificate</source>
      <translation>Bescheinigung speichern</translation>
    </message>
    <message>
      <source>Save the plan</source>
      <translation>Plan speichern</translation>
    </message>
    <message>
      <source>Save the plan…</source>
      <translation>Plan speichern…</translation>
    </message>
    <message>
      <source>Save the query</source>
      <translation>Abfrage speichern</translation>
    </message>
    <message>
      <source>Save the report</source>
      <translation>Bericht speichern</translation>
    </message>
    <message>
      <source>Save the whole map as a picture</source>
      <translation>Die ganze Karte als Bild speichern</translation>
    </message>
    <message>
      <source>Save this query</source>
      <translation>Diese Abfrage speichern</translation>
    </message>
    <message>
      <source>Save this query…</source>
      <translation>Diese Abfrage speichern…</translation>
    </message>
    <message>
      <source>Save to {name}</source>
      <translation>In {name} speichern</translation>
    </message>
    <message>
      <source>Save; if somebody else saved first, you are asked (Ctrl+S)</source>
      <translation>Speichern; hat jemand anderes zuerst gespeichert, werden Sie gefragt (Strg+S)</translation>
    </message>
    <message>
      <source>Saved</source>
      <translation>Gespeichert</translation>
    </message>
    <message>
      <source>Saving the map</source>
      <translation>Die Karte wird gespeichert</translation>
    </message>
    <message>
      <source>Saving waits until the outcome of the last save is known</source>
      <translation>Speichern wartet, bis bekannt ist, wie das letzte ausging</translation>
    </message>
    <message>
      <source>Saving {id}</source>
      <translation>{id} wird gespeichert</translation>
    </message>
    <message>
      <source>Saving: {fields}{since}…</source>
      <translation>Wird gespeichert: {fields}{since}…</translation>
    </message>
    <message>
      <source>Saving… What you typed since is unsaved</source>
      <translation>Wird gespeichert… Seither Getipptes ist ungespeichert</translation>
    </message>
    <message>
      <source>Scan again</source>
      <translation>Erneut prüfen</translation>
    </message>
    <message>
      <source>Scan gently: small batches, with rests</source>
      <translation>Schonend prüfen: kleine Portionen, mit Pausen</translation>
    </message>
    <message>
      <source>Scan now</source>
      <translation>Jetzt prüfen</translation>
    </message>
    <message>
      <source>Scanned</source>
      <translation>Geprüft:</translation>
    </message>
    <message>
      <source>Scanning…</source>
      <translation>Wird geprüft…</translation>
    </message>
    <message>
      <source>Scans</source>
      <translation>Prüfläufe</translation>
    </message>
    <message>
      <source>Scans, newest first</source>
      <translation>Prüfläufe, neuester zuerst</translation>
    </message>
    <message>
      <source>Sec&amp;ret key</source>
      <translation>Ge&amp;heimer Schlüssel</translation>
    </message>
    <message>
      <source>Second time</source>
      <translation>Zweite Zeit</translation>
    </message>
    <message>
      <source>Sep</source>
      <translation>Sept.</translation>
    </message>
    <message>
      <source>Server</source>
      <translation>Server</translation>
    </message>
    <message>
      <source>Server check</source>
      <translation>Serverprüfung</translation>
    </message>
    <message>
      <source>Server not measured yet</source>
      <translation>Server noch nicht gemessen</translation>
    </message>
    <message>
      <source>Servers, dumps, and files of BSON or JSON</source>
      <translation>Server, Dumps und Dateien mit BSON oder JSON</translation>
    </message>
    <message>
      <source>Service name</source>
      <translation>Dienstname</translation>
    </message>
    <message>
      <source>Service realm</source>
      <translation>Realm des Dienstes</translation>
    </message>
    <message>
      <source>Session &amp;token</source>
      <translation>Sitzungs-&amp;Token</translation>
    </message>
    <message>
      <source>Session token</source>
      <translation>Sitzungs-Token</translation>
    </message>
    <message>
      <source>Set {name} as A</source>
      <translation>{name} als A setzen</translation>
    </message>
    <message>
      <source>Set {name} as B</source>
      <translation>{name} als B setzen</translation>
    </message>
    <message>
      <source>Settings</source>
      <translation>Einstellungen</translation>
    </message>
    <message>
      <source>Settings…</source>
      <translation>Einstellungen…</translation>
    </message>
    <message>
      <source>Several documents cannot share one id; leave its line empty, or insert a single document.</source>
      <translation>Mehrere Dokumente können keine gemeinsame Id haben; lassen Sie ihre Zeile leer oder fügen Sie nur ein Dokument ein.</translation>
    </message>
    <message>
      <source>Shift with Ctrl+1, 2, 3: all unresolved</source>
      <translation>Umschalt mit Strg+1, 2, 3: alles Ungelöste</translation>
    </message>
    <message>
      <source>Shift+Space</source>
      <translation>Umschalt+Leertaste</translation>
    </message>
    <message>
      <source>Shift+Up, Shift+Down</source>
      <translation>Umschalt+Auf, Umschalt+Ab</translation>
    </message>
    <message>
      <source>Show</source>
      <translation>Zeigen</translation>
    </message>
    <message>
      <source>Show again</source>
      <translation>Wieder zeigen</translation>
    </message>
    <message>
      <source>Show all again</source>
      <translation>Alle wieder zeigen</translation>
    </message>
    <message>
      <source>Show all fields</source>
      <translation>Alle Felder zeigen</translation>
    </message>
    <message>
      <source>Show all sources</source>
      <translation>Alle Quellen zeigen</translation>
    </message>
    <message>
      <source>Show all tokens</source>
      <translation>Alle Token zeigen</translation>
    </message>
    <message>
      <source>Show as JSON</source>
      <translation>Als JSON zeigen</translation>
    </message>
    <message>
      <source>Show as a list, newest first</source>
      <translation>Als Liste zeigen, neueste zuerst</translation>
    </message>
    <message>
      <source>Show as stored…</source>
      <translation>Wie gespeichert zeigen…</translation>
    </message>
    <message>
      <source>Show beside each field which version last set it (Ctrl+L)</source>
      <translation>Neben jedem Feld zeigen, welche Version es zuletzt gesetzt hat (Strg+L)</translation>
    </message>
    <message>
      <source>Show bytes</source>
      <translation>Bytes zeigen</translation>
    </message>
    <message>
      <source>Show collections</source>
      <translation>Sammlungen zeigen</translation>
    </message>
    <message>
      <source>Show connections</source>
      <translation>Verbindungen zeigen</translation>
    </message>
    <message>
      <source>Show every field of the documents as a column</source>
      <translation>Jedes Feld der Dokumente als Spalte zeigen</translation>
    </message>
    <message>
      <source>Show in a window of its own</source>
      <translation>In eigenem Fenster zeigen</translation>
    </message>
    <message>
      <source>Show it</source>
      <translation>Zeigen</translation>
    </message>
    <message>
      <source>Show it as {}</source>
      <translation>Zeigen als {}</translation>
    </message>
    <message>
      <source>Show only</source>
      <translation>Nur anzeigen</translation>
    </message>
    <message>
      <source>Show picture</source>
      <translation>Bild zeigen</translation>
    </message>
    <message>
      <source>Show the changes of every day again</source>
      <translation>Wieder die Änderungen aller Tage zeigen</translation>
    </message>
    <message>
      <source>Show the document of {letter} with its history</source>
      <translation>Das Dokument von {letter} mit seinem Verlauf zeigen</translation>
    </message>
    <message>
      <source>Show the hidden fields…</source>
      <translation>Ausgeblendete Felder zeigen…</translation>
    </message>
    <message>
      <source>Show the server's plan</source>
      <translation>Plan des Servers zeigen</translation>
    </message>
    <message>
      <source>Show the whole value</source>
      <translation>Ganzen Wert zeigen</translation>
    </message>
    <message>
      <source>Show the whole values</source>
      <translation>Die ganzen Werte zeigen</translation>
    </message>
    <message>
      <source>Show this document's versions (Ctrl+Shift+H)</source>
      <translation>Die Versionen dieses Dokuments zeigen (Strg+Umschalt+H)</translation>
    </message>
    <message>
      <source>Show tokens with these words</source>
      <translation>Token mit diesen Wörtern zeigen</translation>
    </message>
    <message>
      <source>Show versions as a list</source>
      <translation>Versionen als Liste zeigen</translation>
    </message>
    <message>
      <source>Show what is left</source>
      <translation>Zeigen, was geblieben ist</translation>
    </message>
    <message>
      <source>Show what is there</source>
      <translation>Zeigen, was dort ist</translation>
    </message>
    <message>
      <source>Show what would go</source>
      <translation>Zeigen, was entfiele</translation>
    </message>
    <message>
      <source>Show where they lie</source>
      <translation>Zeigen, wo sie liegen</translation>
    </message>
    <message>
      <source>Show your changes and what saving sends (Ctrl+B)</source>
      <translation>Ihre Änderungen zeigen und was das Speichern sendet (Strg+B)</translation>
    </message>
    <message>
      <source>Show {fields} that always change</source>
      <translation>{fields} zeigen, die sich immer ändern</translation>
    </message>
    <message>
      <source>Show {name}</source>
      <translation>{name} zeigen</translation>
    </message>
    <message>
      <source>Show {name} by itself</source>
      <translation>{name} für sich zeigen</translation>
    </message>
    <message>
      <source>Show {pattern} again</source>
      <translation>{pattern} wieder zeigen</translation>
    </message>
    <message>
      <source>Show {version_named} in {main}</source>
      <translation>{version_named} in {main} zeigen</translation>
    </message>
    <message>
      <source>Shown: {}</source>
      <translation>Gezeigt: {}</translation>
    </message>
    <message>
      <source>Shows first what would be written; nothing is written yet</source>
      <translation>Zeigt zuerst, was geschrieben würde; noch wird nichts geschrieben</translation>
    </message>
    <message>
      <source>Sidebar</source>
      <translation>Seitenleiste</translation>
    </message>
    <message>
      <source>Sign</source>
      <translation>Unterschreiben</translation>
    </message>
    <message>
      <source>Sign as</source>
      <translation>Unterschreiben als</translation>
    </message>
    <message>
      <source>Sign as…</source>
      <translation>Unterschreiben als…</translation>
    </message>
    <message>
      <source>Since</source>
      <translation>Seit</translation>
    </message>
    <message>
      <source>Since the first scan</source>
      <translation>Seit dem ersten Prüflauf</translation>
    </message>
    <message>
      <source>Since: 2026-11-01 09:30, 2026-11-01 or 7d</source>
      <translation>Seit: 2026-11-01 09:30, 2026-11-01 oder 7d</translation>
    </message>
    <message>
      <source>Size</source>
      <translation>Größe</translation>
    </message>
    <message>
      <source>Skip</source>
      <translation>Überspringen</translation>
    </message>
    <message>
      <source>Skip and limit…</source>
      <translation>Überspringen und begrenzen…</translation>
    </message>
    <message>
      <source>Skipped</source>
      <translation>Übersprungen</translation>
    </message>
    <message>
      <source>Smaller text</source>
      <translation>Kleinerer Text</translation>
    </message>
    <message>
      <source>Some collections ask who writes, as their profile says. This name stands in each version made from here on this connection, until you give another one.</source>
      <translation>Manche Sammlungen fragen, wer schreibt; so sagt es ihr Profil. Dieser Name steht in jeder Version, die von hier aus auf dieser Verbindung entsteht, bis Sie einen anderen angeben.</translation>
    </message>
    <message>
      <source>Somebody wrote it back; erase it once more:</source>
      <translation>Jemand hat es zurückgeschrieben; löschen Sie es noch einmal:</translation>
    </message>
    <message>
      <source>Someone changed this document and changed it back. Nobody's work is lost by saving your edit</source>
      <translation>Jemand hat dieses Dokument geändert und wieder zurückgeändert. Niemandes Arbeit geht verloren, wenn Sie Ihre Bearbeitung speichern</translation>
    </message>
    <message>
      <source>Someone made the same change meanwhile, so there is nothing left to save.</source>
      <translation>Jemand hat inzwischen dieselbe Änderung gemacht; es bleibt nichts zu speichern.</translation>
    </message>
    <message>
      <source>Something went wrong inside Palimpsest; nothing more was written. Copy the details and report them.</source>
      <translation>In Palimpsest ging etwas schief; weiter wurde nichts geschrieben. Kopieren Sie die Details und melden Sie sie.</translation>
    </message>
    <message>
      <source>Somewhere in {set_in}: the versions between are missing</source>
      <translation>Irgendwo in {set_in}: Die Versionen dazwischen fehlen</translation>
    </message>
    <message>
      <source>Source</source>
      <translation>Quelle</translation>
    </message>
    <message>
      <source>Space</source>
      <translation>Leertaste</translation>
    </message>
    <message>
      <source>State the layout…</source>
      <translation>Das Layout angeben…</translation>
    </message>
    <message>
      <source>Stays: {why_not}</source>
      <translation>Bleibt: {why_not}</translation>
    </message>
    <message>
      <source>Step one was written, step two was not: the counter lacks these tokens. Writers of young ones may be at work.</source>
      <translation>Schritt eins wurde geschrieben, Schritt zwei nicht: Dem Zähler fehlen diese Token. Bei jungen arbeitet das Programm vielleicht noch.</translation>
    </message>
    <message>
      <source>Still stored: {versions}, the newest {last}.</source>
      <translation>Noch gespeichert: {versions}, die neueste {last}.</translation>
    </message>
    <message>
      <source>Stop</source>
      <translation>Anhalten</translation>
    </message>
    <message>
      <source>Stop reading</source>
      <translation>Lesen anhalten</translation>
    </message>
    <message>
      <source>Stop: {title}</source>
      <translation>Anhalten: {title}</translation>
    </message>
    <message>
      <source>Stopped</source>
      <translation>Angehalten</translation>
    </message>
    <message>
      <source>Stopped after</source>
      <translation>Angehalten nach</translation>
    </message>
    <message>
      <source>Stopped. Copying again continues where it stopped.</source>
      <translation>Angehalten. Erneutes Kopieren macht dort weiter, wo es endete.</translation>
    </message>
    <message>
      <source>Stopped. Everything is copied, and not all of it is compared.</source>
      <translation>Angehalten. Alles ist kopiert, aber nicht alles verglichen.</translation>
    </message>
    <message>
      <source>Stopped. Nothing has been written.</source>
      <translation>Angehalten. Es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Stopped. Taking back again continues where it stopped.</source>
      <translation>Angehalten. Erneutes Zurücknehmen macht dort weiter, wo es endete.</translation>
    </message>
    <message>
      <source>Stopped: </source>
      <translation>Angehalten: </translation>
    </message>
    <message>
      <source>Stored documents before and after</source>
      <translation>Gespeicherte Dokumente vorher und nachher</translation>
    </message>
    <message>
      <source>Stored in</source>
      <translation>Gespeichert in</translation>
    </message>
    <message>
      <source>Stored now</source>
      <translation>Jetzt gespeichert</translation>
    </message>
    <message>
      <source>Swap A and B</source>
      <translation>A und B tauschen</translation>
    </message>
    <message>
      <source>System</source>
      <translation>System</translation>
    </message>
    <message>
      <source>T&amp;hrough</source>
      <translation>Ü&amp;ber</translation>
    </message>
    <message>
      <source>TLS, user, read-only…</source>
      <translation>TLS, Benutzer, Schreibschutz…</translation>
    </message>
    <message>
      <source>Tab</source>
      <translation>Tab</translation>
    </message>
    <message>
      <source>Tab, Shift+Tab</source>
      <translation>Tab, Umschalt+Tab</translation>
    </message>
    <message>
      <source>Tabs</source>
      <translation>Tabs</translation>
    </message>
    <message>
      <source>Take A's value into the draft</source>
      <translation>Wert von A in den Entwurf übernehmen</translation>
    </message>
    <message>
      <source>Take B's value into the draft</source>
      <translation>Wert von B in den Entwurf übernehmen</translation>
    </message>
    <message>
      <source>Take a change back</source>
      <translation>Änderung zurücknehmen</translation>
    </message>
    <message>
      <source>Take back</source>
      <translation>Zurücknehmen</translation>
    </message>
    <message>
      <source>Take back every write that was asked for together with this one</source>
      <translation>Jeden Schreibvorgang zurücknehmen, der zusammen mit diesem verlangt wurde</translation>
    </message>
    <message>
      <source>Take back in {documents}</source>
      <translation>In {documents} zurücknehmen</translation>
    </message>
    <message>
      <source>Take back this field…</source>
      <translation>Dieses Feld zurücknehmen…</translation>
    </message>
    <message>
      <source>Take back {changes}…</source>
      <translation>{changes} zurücknehmen…</translation>
    </message>
    <message>
      <source>Take back {name}…</source>
      <translation>{name} zurücknehmen…</translation>
    </message>
    <message>
      <source>Take back…</source>
      <translation>Zurücknehmen…</translation>
    </message>
    <message>
      <source>Take it</source>
      <translation>Übernehmen</translation>
    </message>
    <message>
      <source>Take it, and on to the next</source>
      <translation>Übernehmen, weiter zum nächsten</translation>
    </message>
    <message>
      <source>Take the answer back</source>
      <translation>Antwort zurücknehmen</translation>
    </message>
    <message>
      <source>Take the database's</source>
      <translation>Datenbank nehmen</translation>
    </message>
    <message>
      <source>Take the newest version only; earlier ones stay where they are</source>
      <translation>Nur die neueste Version nehmen; frühere bleiben, wo sie sind</translation>
    </message>
    <message>
      <source>Take the next number</source>
      <translation>Nächste Nummer ziehen</translation>
    </message>
    <message>
      <source>Take the next number of {name}?</source>
      <translation>Nächste Nummer von {name} ziehen?</translation>
    </message>
    <message>
      <source>Take the next number…</source>
      <translation>Nächste Nummer ziehen…</translation>
    </message>
    <message>
      <source>Take the side</source>
      <translation>Die Seite nehmen</translation>
    </message>
    <message>
      <source>Take this side</source>
      <translation>Diese Seite nehmen</translation>
    </message>
    <message>
      <source>Take {target} back?</source>
      <translation>{target} zurücknehmen?</translation>
    </message>
    <message>
      <source>Take {upper}'s value into the draft ({keys})</source>
      <translation>Wert aus {upper} in den Entwurf übernehmen ({keys})</translation>
    </message>
    <message>
      <source>Take {upper}'s value into {into} ({keys})</source>
      <translation>Wert von {upper} in {into} übernehmen ({keys})</translation>
    </message>
    <message>
      <source>Take {upper}'s {name} into the draft</source>
      <translation>{name} aus {upper} in den Entwurf übernehmen</translation>
    </message>
    <message>
      <source>Taken at the next start.</source>
      <translation>Gilt ab dem nächsten Start.</translation>
    </message>
    <message>
      <source>Taken back</source>
      <translation>Zurückgenommen</translation>
    </message>
    <message>
      <source>Taken back in {documents}</source>
      <translation>In {documents} zurückgenommen</translation>
    </message>
    <message>
      <source>Taken for {layout}, {about}{sure}. {why}{also}</source>
      <translation>Gehalten für {layout}, {about}{sure}. {why}{also}</translation>
    </message>
    <message>
      <source>Taking back</source>
      <translation>Änderungen werden zurückgenommen</translation>
    </message>
    <message>
      <source>Taking back {target}</source>
      <translation>{target} wird zurückgenommen</translation>
    </message>
    <message>
      <source>Tasks</source>
      <translation>Aufgaben</translation>
    </message>
    <message>
      <source>Test</source>
      <translation>Testen</translation>
    </message>
    <message>
      <source>Text as large as the system's</source>
      <translation>Text so groß wie im System</translation>
    </message>
    <message>
      <source>Text by words</source>
      <translation>Text nach Wörtern</translation>
    </message>
    <message>
      <source>That is in the future, so the documents are shown as they are now.</source>
      <translation>Das liegt in der Zukunft; gezeigt werden die Dokumente, wie sie jetzt sind.</translation>
    </message>
    <message>
      <source>The JSON text is not a document yet</source>
      <translation>Der JSON-Text ist noch kein Dokument</translation>
    </message>
    <message>
      <source>The JSON text is not a document yet, so the fields cannot be changed.</source>
      <translation>Der JSON-Text ist noch kein Dokument, daher lassen sich die Felder nicht ändern.</translation>
    </message>
    <message>
      <source>The activity could not be read</source>
      <translation>Die Aktivität konnte nicht gelesen werden</translation>
    </message>
    <message>
      <source>The address names one database; show all that this user may see</source>
      <translation>Die Adresse nennt eine Datenbank; alle zeigen, die dieser Benutzer sehen darf</translation>
    </message>
    <message>
      <source>The amount is not known: {describe}</source>
      <translation>Der Umfang ist nicht bekannt: {describe}</translation>
    </message>
    <message>
      <source>The certificate and its password stand under TLS. The subject may be left empty.</source>
      <translation>Zertifikat und Passwort stehen unter TLS. Der Inhaber kann leer bleiben.</translation>
    </message>
    <message>
      <source>The certificate is in {path}</source>
      <translation>Die Bescheinigung ist in {path}</translation>
    </message>
    <message>
      <source>The change</source>
      <translation>Die Änderung</translation>
    </message>
    <message>
      <source>The change before, the next one</source>
      <translation>Die Änderung davor, die nächste</translation>
    </message>
    <message>
      <source>The change took out the whole element of {key}; take it back from the timeline.</source>
      <translation>Die Änderung hat das ganze Element von {key} entfernt; nehmen Sie sie in der Zeitleiste zurück.</translation>
    </message>
    <message>
      <source>The check writes into a scratch database of its own, {database}, and drops it at the end: eight writers at once, every type, the order of fields, retried writes, change streams, the clock. It takes some seconds.</source>
      <translation>Die Prüfung schreibt in eine eigene Wegwerf-Datenbank, {database}, und löscht sie am Ende: acht Schreiber zugleich, jeder Typ, die Reihenfolge der Felder, wiederholte Schreibvorgänge, Change Streams, die Uhr. Sie dauert einige Sekunden.</translation>
    </message>
    <message>
      <source>The code that reads and saves documents is on the clipboard.</source>
      <translation>Der Code, der Dokumente liest und speichert, ist in der Zwischenablage.</translation>
    </message>
    <message>
      <source>The collection is first checked for duplicates. On a large one this takes a while and slows writing.</source>
      <translation>Die Sammlung wird zuerst auf Duplikate geprüft. Bei einer großen dauert das eine Weile und bremst das Schreiben.</translation>
    </message>
    <message>
      <source>The command is copied</source>
      <translation>Der Befehl ist kopiert</translation>
    </message>
    <message>
      <source>The comparison in words</source>
      <translation>Der Vergleich in Worten</translation>
    </message>
    <message>
      <source>The comparison was stopped</source>
      <translation>Der Vergleich wurde angehalten</translation>
    </message>
    <message>
      <source>The condition did not run</source>
      <translation>Die Bedingung lief nicht</translation>
    </message>
    <message>
      <source>The condition {says} of the {versions} that can be read.</source>
      <translation>Die Bedingung {says} der lesbaren {versions}.</translation>
    </message>
    <message>
      <source>The connection is opened again, with its tabs.{lost}</source>
      <translation>Die Verbindung wird mit ihren Tabs neu geöffnet.{lost}</translation>
    </message>
    <message>
      <source>The content of {old} becomes a new version</source>
      <translation>Der Inhalt von {old} wird zu einer neuen Version</translation>
    </message>
    <message>
      <source>The counter moves up by one, and that number goes to you and to nobody else. It cannot be given back: a number that is not used stays a gap.</source>
      <translation>Der Zähler rückt um eins vor, und diese Nummer gehört Ihnen und niemandem sonst. Zurückgeben lässt sie sich nicht: Eine ungenutzte Nummer bleibt eine Lücke.</translation>
    </message>
    <message>
      <source>The database has moved on since this draft began. Saving asks you first and writes nothing before.</source>
      <translation>Die Datenbank ist weitergerückt, seit dieser Entwurf begann. Beim Speichern werden Sie zuerst gefragt; vorher wird nichts geschrieben.</translation>
    </message>
    <message>
      <source>The database has not moved again</source>
      <translation>Die Datenbank ist nicht weitergerückt</translation>
    </message>
    <message>
      <source>The database is still at {at}</source>
      <translation>Die Datenbank steht noch bei {at}</translation>
    </message>
    <message>
      <source>The database moved again while you decided, {was} → {now}.</source>
      <translation>Die Datenbank rückte weiter, während Sie entschieden, {was} → {now}.</translation>
    </message>
    <message>
      <source>The database moved again.</source>
      <translation>Die Datenbank rückte wieder weiter.</translation>
    </message>
    <message>
      <source>The database's</source>
      <translation>Das der Datenbank</translation>
    </message>
    <message>
      <source>The details are copied</source>
      <translation>Die Details sind kopiert</translation>
    </message>
    <message>
      <source>The diff is copied</source>
      <translation>Der Vergleich ist kopiert</translation>
    </message>
    <message>
      <source>The document as Extended JSON</source>
      <translation>Das Dokument als Extended JSON</translation>
    </message>
    <message>
      <source>The document changed</source>
      <translation>Das Dokument hat sich geändert</translation>
    </message>
    <message>
      <source>The document changed meanwhile.</source>
      <translation>Das Dokument hat sich inzwischen geändert.</translation>
    </message>
    <message>
      <source>The document could not be read again: {sentence}</source>
      <translation>Das Dokument konnte nicht noch einmal gelesen werden: {sentence}</translation>
    </message>
    <message>
      <source>The document is not loaded yet</source>
      <translation>Das Dokument ist noch nicht geladen</translation>
    </message>
    <message>
      <source>The document now, and as it would be</source>
      <translation>Das Dokument jetzt, und wie es wäre</translation>
    </message>
    <message>
      <source>The documents could not be read</source>
      <translation>Die Dokumente konnten nicht gelesen werden</translation>
    </message>
    <message>
      <source>The draft cannot be read</source>
      <translation>Der Entwurf ist nicht lesbar</translation>
    </message>
    <message>
      <source>The draft could not be kept on disk: {sentence}</source>
      <translation>Der Entwurf konnte nicht auf der Platte behalten werden: {sentence}</translation>
    </message>
    <message>
      <source>The draft has {field} as {name} already</source>
      <translation>Der Entwurf hat {field} schon wie {name}</translation>
    </message>
    <message>
      <source>The draft is of another edit</source>
      <translation>Der Entwurf gehört zu einer anderen Bearbeitung</translation>
    </message>
    <message>
      <source>The drafts could not be read</source>
      <translation>Die Entwürfe konnten nicht gelesen werden</translation>
    </message>
    <message>
      <source>The dry run did not come to its end</source>
      <translation>Der Probelauf kam nicht zu seinem Ende</translation>
    </message>
    <message>
      <source>The export of the history of {ns} was stopped</source>
      <translation>Der Export des Verlaufs von {ns} wurde abgebrochen</translation>
    </message>
    <message>
      <source>The export of {ns} was stopped; no file was written</source>
      <translation>Der Export von {ns} wurde angehalten; keine Datei wurde geschrieben</translation>
    </message>
    <message>
      <source>The field above is not an object or a list, so nothing can be moved into it</source>
      <translation>Das Feld darüber ist kein Objekt und keine Liste, daher lässt sich nichts hineinschieben</translation>
    </message>
    <message>
      <source>The field was there from the start, so there is no value before it.</source>
      <translation>Das Feld war von Anfang an da, davor gibt es also keinen Wert.</translation>
    </message>
    <message>
      <source>The fields are not known. {describe}</source>
      <translation>Die Felder sind nicht bekannt. {describe}</translation>
    </message>
    <message>
      <source>The fields at stake</source>
      <translation>Die betroffenen Felder</translation>
    </message>
    <message>
      <source>The filter looks at current versions</source>
      <translation>Der Filter sieht die aktuellen Versionen an</translation>
    </message>
    <message>
      <source>The filter looks at earlier versions too; the list shows the documents as they are now</source>
      <translation>Der Filter sieht auch frühere Versionen an; die Liste zeigt die Dokumente, wie sie jetzt sind</translation>
    </message>
    <message>
      <source>The first documents of {name} are here; all of it is being read.</source>
      <translation>Die ersten Dokumente von {name} sind da; alles wird gerade gelesen.</translation>
    </message>
    <message>
      <source>The first {listed} are listed.</source>
      <translation>Die ersten {listed} sind aufgelistet.</translation>
    </message>
    <message>
      <source>The first {rows} are open; open the others as you need them</source>
      <translation>Die ersten {rows} sind offen; öffnen Sie die anderen nach Bedarf</translation>
    </message>
    <message>
      <source>The first, the last change</source>
      <translation>Die erste, die letzte Änderung</translation>
    </message>
    <message>
      <source>The histories could not be read. {sentence}</source>
      <translation>Die Verläufe konnten nicht gelesen werden. {sentence}</translation>
    </message>
    <message>
      <source>The hit before (Shift+F3)</source>
      <translation>Voriger Treffer (Umschalt+F3)</translation>
    </message>
    <message>
      <source>The id is copied</source>
      <translation>Die Id ist kopiert</translation>
    </message>
    <message>
      <source>The id of a document</source>
      <translation>Die Id eines Dokuments</translation>
    </message>
    <message>
      <source>The index is there; saving is possible now</source>
      <translation>Der Index ist da; Speichern ist jetzt möglich</translation>
    </message>
    <message>
      <source>The indexes could not be read. {describe}</source>
      <translation>Die Indexe konnten nicht gelesen werden. {describe}</translation>
    </message>
    <message>
      <source>The item above</source>
      <translation>Der Posten darüber</translation>
    </message>
    <message>
      <source>The item below</source>
      <translation>Der Posten darunter</translation>
    </message>
    <message>
      <source>The journal could not be read</source>
      <translation>Das Journal konnte nicht gelesen werden</translation>
    </message>
    <message>
      <source>The keys of the layout</source>
      <translation>Die Schlüssel des Layouts</translation>
    </message>
    <message>
      <source>The last 30 days</source>
      <translation>Die letzten 30 Tage</translation>
    </message>
    <message>
      <source>The last 7 days</source>
      <translation>Die letzten 7 Tage</translation>
    </message>
    <message>
      <source>The layout keeps this field for itself</source>
      <translation>Das Layout behält dieses Feld für sich</translation>
    </message>
    <message>
      <source>The line for mongosh that creates the missing index; nothing is created from here</source>
      <translation>Die Zeile für mongosh, die den fehlenden Index anlegt; von hier aus wird nichts angelegt</translation>
    </message>
    <message>
      <source>The lines of a profile</source>
      <translation>Die Zeilen eines Profils</translation>
    </message>
    <message>
      <source>The list already shows the present documents</source>
      <translation>Die Liste zeigt schon die jetzigen Dokumente</translation>
    </message>
    <message>
      <source>The list reads only a part of it; open it to see how large it is.</source>
      <translation>Die Liste liest nur einen Teil davon; öffnen Sie es, um zu sehen, wie groß es ist.</translation>
    </message>
    <message>
      <source>The list shows a past state; go back to now first</source>
      <translation>Die Liste zeigt einen früheren Stand; gehen Sie zuerst zu jetzt zurück</translation>
    </message>
    <message>
      <source>The list waits while the pointer is on it, a row is chosen or it is scrolled. Show the new rows now</source>
      <translation>Die Liste wartet, solange der Zeiger auf ihr ist, eine Zeile gewählt oder geblättert ist. Die neuen Zeilen jetzt zeigen</translation>
    </message>
    <message>
      <source>The manual</source>
      <translation>Das Handbuch</translation>
    </message>
    <message>
      <source>The manual could not be read</source>
      <translation>Das Handbuch konnte nicht gelesen werden</translation>
    </message>
    <message>
      <source>The map is saved as {path}</source>
      <translation>Die Karte ist als {path} gespeichert</translation>
    </message>
    <message>
      <source>The new collection</source>
      <translation>Die neue Sammlung</translation>
    </message>
    <message>
      <source>The new layout</source>
      <translation>Das neue Layout</translation>
    </message>
    <message>
      <source>The newest {kept} are kept; {versions} before them were dropped.</source>
      <translation>Die neuesten {kept} bleiben; {versions} davor sind entfallen.</translation>
    </message>
    <message>
      <source>The newest {shown} of {found} are shown.</source>
      <translation>Gezeigt werden die neuesten {shown} von {found:dative}.</translation>
    </message>
    <message>
      <source>The next hit (F3)</source>
      <translation>Nächster Treffer (F3)</translation>
    </message>
    <message>
      <source>The next hit, the one before</source>
      <translation>Nächster, voriger Treffer</translation>
    </message>
    <message>
      <source>The only difference</source>
      <translation>Der einzige Unterschied</translation>
    </message>
    <message>
      <source>The pane beside it</source>
      <translation>Der Bereich daneben</translation>
    </message>
    <message>
      <source>The password has no user; type the user's name beside it.</source>
      <translation>Das Passwort hat keinen Benutzer; geben Sie den Namen daneben ein.</translation>
    </message>
    <message>
      <source>The password is sent unencrypted: use TLS.</source>
      <translation>Das Passwort wird unverschlüsselt gesendet: Verwenden Sie TLS.</translation>
    </message>
    <message>
      <source>The pending tokens could not be read</source>
      <translation>Die offenen Token konnten nicht gelesen werden</translation>
    </message>
    <message>
      <source>The plan</source>
      <translation>Der Plan</translation>
    </message>
    <message>
      <source>The query did not run</source>
      <translation>Die Abfrage lief nicht</translation>
    </message>
    <message>
      <source>The reasons are listed above.</source>
      <translation>Die Gründe stehen oben.</translation>
    </message>
    <message>
      <source>The report</source>
      <translation>Der Bericht</translation>
    </message>
    <message>
      <source>The report begins with the first version.</source>
      <translation>Der Bericht beginnt mit der ersten Version.</translation>
    </message>
    <message>
      <source>The report is in the clipboard.</source>
      <translation>Der Bericht ist in der Zwischenablage.</translation>
    </message>
    <message>
      <source>The report is in {path}</source>
      <translation>Der Bericht steht in {path}</translation>
    </message>
    <message>
      <source>The result is being worked out</source>
      <translation>Das Ergebnis wird ermittelt</translation>
    </message>
    <message>
      <source>The result is what is in the database already</source>
      <translation>Das Ergebnis ist schon der Stand der Datenbank</translation>
    </message>
    <message>
      <source>The result is {content}; read it in the tree.</source>
      <translation>Das Ergebnis hat {content}; lesen Sie es im Baum.</translation>
    </message>
    <message>
      <source>The results below are of the previous measurement.</source>
      <translation>Die Ergebnisse unten sind von der vorigen Messung.</translation>
    </message>
    <message>
      <source>The same</source>
      <translation>Gleich</translation>
    </message>
    <message>
      <source>The same as {there}</source>
      <translation>Gleich mit {there}</translation>
    </message>
    <message>
      <source>The same on both sides</source>
      <translation>Auf beiden Seiten gleich</translation>
    </message>
    <message>
      <source>The sample</source>
      <translation>Das Beispiel</translation>
    </message>
    <message>
      <source>The scan did not come to its end</source>
      <translation>Der Prüflauf kam nicht ans Ende</translation>
    </message>
    <message>
      <source>The scan was stopped before its end.</source>
      <translation>Der Prüflauf wurde vor seinem Ende angehalten.</translation>
    </message>
    <message>
      <source>The scans were stopped before their end, so nothing can be compared yet.</source>
      <translation>Die Prüfläufe wurden vor ihrem Ende angehalten, daher lässt sich noch nichts vergleichen.</translation>
    </message>
    <message>
      <source>The server could not be measured</source>
      <translation>Der Server konnte nicht gemessen werden</translation>
    </message>
    <message>
      <source>The server's own answer</source>
      <translation>Die Antwort des Servers selbst</translation>
    </message>
    <message>
      <source>The system's own ssh is used, with its configuration, agent and jump hosts; it must log in without a prompt.</source>
      <translation>Benutzt wird das ssh des Systems mit seiner Konfiguration, seinem Agenten und seinen Sprunghosts; es muss sich ohne Rückfrage anmelden.</translation>
    </message>
    <message>
      <source>The token comes from the machine that Palimpsest runs on.</source>
      <translation>Das Token kommt von der Maschine, auf der Palimpsest läuft.</translation>
    </message>
    <message>
      <source>The values are copied</source>
      <translation>Die Werte sind kopiert</translation>
    </message>
    <message>
      <source>The values read the same; they are stored as another type or in another order. </source>
      <translation>Die Werte lesen sich gleich; gespeichert sind sie mit anderem Typ oder in anderer Reihenfolge. </translation>
    </message>
    <message>
      <source>The version before it is missing or cannot be read, so what it changed is not known.</source>
      <translation>Die Version davor fehlt oder ist nicht lesbar, daher ist nicht bekannt, was sie geändert hat.</translation>
    </message>
    <message>
      <source>The version moved on, but the content came back</source>
      <translation>Die Version rückte weiter, aber der Inhalt kehrte zurück</translation>
    </message>
    <message>
      <source>The versions before {v} are missing; it may be older</source>
      <translation>Die Versionen vor {v} fehlen; es kann älter sein</translation>
    </message>
    <message>
      <source>The versions between {oldest} and {v} are missing</source>
      <translation>Die Versionen zwischen {oldest} und {v} fehlen</translation>
    </message>
    <message>
      <source>The versions found are not known. {describe}</source>
      <translation>Welche Versionen gefunden wurden, ist nicht bekannt. {describe}</translation>
    </message>
    <message>
      <source>The versions of the document chosen in the list appear here.</source>
      <translation>Hier stehen die Versionen des Dokuments, das in der Liste gewählt ist.</translation>
    </message>
    <message>
      <source>The versions of {id} could not be followed</source>
      <translation>Die Versionen von {id} ließen sich nicht verfolgen</translation>
    </message>
    <message>
      <source>The versions of {id} could not be looked at</source>
      <translation>Die Versionen von {id} konnten nicht angesehen werden</translation>
    </message>
    <message>
      <source>The versions of {name} could not be read</source>
      <translation>Die Versionen von {name} konnten nicht gelesen werden</translation>
    </message>
    <message>
      <source>The versions that are kept have no content that can be read.</source>
      <translation>Die vorhandenen Versionen haben keinen lesbaren Inhalt.</translation>
    </message>
    <message>
      <source>The whole run is kept in the journal</source>
      <translation>Der ganze Lauf steht im Journal</translation>
    </message>
    <message>
      <source>The whole value</source>
      <translation>Der ganze Wert</translation>
    </message>
    <message>
      <source>The whole values, on a field's name</source>
      <translation>Die ganzen Werte, auf einem Feldnamen</translation>
    </message>
    <message>
      <source>The write for this token</source>
      <translation>Der Schreibvorgang für dieses Token</translation>
    </message>
    <message>
      <source>The write that saving sends</source>
      <translation>Der Schreibvorgang, den das Speichern sendet</translation>
    </message>
    <message>
      <source>The writes of this item</source>
      <translation>Die Schreibvorgänge dieses Postens</translation>
    </message>
    <message>
      <source>Their changes are left out of every comparison in {ns}.</source>
      <translation>Ihre Änderungen bleiben bei jedem Vergleich in {ns} unbeachtet.</translation>
    </message>
    <message>
      <source>Their contents are equal, byte for byte.</source>
      <translation>Ihre Inhalte sind gleich, Byte für Byte.</translation>
    </message>
    <message>
      <source>Then</source>
      <translation>Dann</translation>
    </message>
    <message>
      <source>There</source>
      <translation>Dort</translation>
    </message>
    <message>
      <source>There already: {count}.</source>
      <translation>Schon vorhanden: {count}.</translation>
    </message>
    <message>
      <source>There are no drafts</source>
      <translation>Es gibt keine Entwürfe</translation>
    </message>
    <message>
      <source>There is a field called {name} already; rename one of them first</source>
      <translation>Es gibt schon ein Feld namens {name}; benennen Sie zuerst eines um</translation>
    </message>
    <message>
      <source>There is a field called {typed} here already; choose another name.</source>
      <translation>Hier gibt es schon ein Feld namens {typed}; wählen Sie einen anderen Namen.</translation>
    </message>
    <message>
      <source>There is no activity to show</source>
      <translation>Es gibt keine Aktivität zu zeigen</translation>
    </message>
    <message>
      <source>There is no document in it</source>
      <translation>Es enthält kein Dokument</translation>
    </message>
    <message>
      <source>There is no document on the clipboard</source>
      <translation>In der Zwischenablage ist kein Dokument</translation>
    </message>
    <message>
      <source>There is no document to copy</source>
      <translation>Es gibt kein Dokument zu kopieren</translation>
    </message>
    <message>
      <source>There is no document yet</source>
      <translation>Es gibt noch kein Dokument</translation>
    </message>
    <message>
      <source>There is no document {id} in {ns} any more.</source>
      <translation>Ein Dokument {id} gibt es in {ns} nicht mehr.</translation>
    </message>
    <message>
      <source>There is no repair for it</source>
      <translation>Dafür gibt es keine Reparatur</translation>
    </message>
    <message>
      <source>There is no value here</source>
      <translation>Hier ist kein Wert</translation>
    </message>
    <message>
      <source>There is nothing to follow</source>
      <translation>Es gibt nichts zu verfolgen</translation>
    </message>
    <message>
      <source>There is nothing to preview</source>
      <translation>Es gibt nichts vorzuschauen</translation>
    </message>
    <message>
      <source>There is nothing to redo here</source>
      <translation>Hier gibt es nichts zu wiederholen</translation>
    </message>
    <message>
      <source>There is nothing to search here</source>
      <translation>Hier gibt es nichts zu durchsuchen</translation>
    </message>
    <message>
      <source>There is nothing to undo here</source>
      <translation>Hier gibt es nichts rückgängig zu machen</translation>
    </message>
    <message>
      <source>There now</source>
      <translation>Jetzt dort</translation>
    </message>
    <message>
      <source>These are two documents; take over single differences with the arrows.</source>
      <translation>Dies sind zwei Dokumente; einzelne Unterschiede übernehmen Sie mit den Pfeilen.</translation>
    </message>
    <message>
      <source>These changes are in several collections; pick those of one.</source>
      <translation>Diese Änderungen liegen in mehreren Sammlungen; wählen Sie die einer einzigen aus.</translation>
    </message>
    <message>
      <source>These documents could not be read</source>
      <translation>Diese Dokumente konnten nicht gelesen werden</translation>
    </message>
    <message>
      <source>These versions could not be compared</source>
      <translation>Diese Versionen konnten nicht verglichen werden</translation>
    </message>
    <message>
      <source>These versions stay: {parts}.</source>
      <translation>Diese Versionen bleiben: {parts}.</translation>
    </message>
    <message>
      <source>They are removed without being counted: {lost} in all is lost.</source>
      <translation>Sie werden entfernt, ohne gezählt zu werden: {lost} insgesamt gehen verloren.</translation>
    </message>
    <message>
      <source>They are taken out of all versions, wherever these lie; everything else of them stays. There is no way back: undo cannot bring them back.</source>
      <translation>Sie werden aus allen Versionen entfernt, wo immer diese liegen; alles andere bleibt. Es gibt keinen Weg zurück: Auch Rückgängig bringt sie nicht wieder.</translation>
    </message>
    <message>
      <source>This collection has no counters that are raised in two steps</source>
      <translation>Diese Sammlung hat keine Zähler, die in zwei Schritten erhöht werden</translation>
    </message>
    <message>
      <source>This collection has no lists of processed entries</source>
      <translation>Diese Sammlung hat keine Listen verarbeiteter Einträge</translation>
    </message>
    <message>
      <source>This collection holds no numbers that are counted up</source>
      <translation>Diese Sammlung enthält keine fortlaufenden Nummern</translation>
    </message>
    <message>
      <source>This collection keeps nothing of deleted documents. What Palimpsest deleted is in the journal.</source>
      <translation>Diese Sammlung bewahrt von gelöschten Dokumenten nichts auf. Was Palimpsest gelöscht hat, steht im Journal.</translation>
    </message>
    <message>
      <source>This connection does not answer now.</source>
      <translation>Diese Verbindung antwortet gerade nicht.</translation>
    </message>
    <message>
      <source>This connection is read-only</source>
      <translation>Diese Verbindung ist schreibgeschützt</translation>
    </message>
    <message>
      <source>This connection is read-only.</source>
      <translation>Diese Verbindung ist schreibgeschützt.</translation>
    </message>
    <message>
      <source>This could not be read</source>
      <translation>Dies konnte nicht gelesen werden</translation>
    </message>
    <message>
      <source>This document cannot be written</source>
      <translation>Dieses Dokument kann nicht geschrieben werden</translation>
    </message>
    <message>
      <source>This document changed since you opened it</source>
      <translation>Dieses Dokument hat sich geändert, seit Sie es geöffnet haben</translation>
    </message>
    <message>
      <source>This document could not be read</source>
      <translation>Dieses Dokument konnte nicht gelesen werden</translation>
    </message>
    <message>
      <source>This document does not decode; it is never written</source>
      <translation>Dieses Dokument lässt sich nicht dekodieren; es wird nie geschrieben</translation>
    </message>
    <message>
      <source>This document has no date in {field}.</source>
      <translation>Dieses Dokument hat kein Datum in {field}.</translation>
    </message>
    <message>
      <source>This document has no fields</source>
      <translation>Dieses Dokument hat keine Felder</translation>
    </message>
    <message>
      <source>This document is {content}</source>
      <translation>Dieses Dokument hat {content}</translation>
    </message>
    <message>
      <source>This document was deleted since you opened it</source>
      <translation>Dieses Dokument wurde gelöscht, seit Sie es geöffnet haben</translation>
    </message>
    <message>
      <source>This draft belongs to {source}. Connect to it, then open the draft again.</source>
      <translation>Dieser Entwurf gehört zu {source}. Verbinden Sie sich damit und öffnen Sie den Entwurf dann erneut.</translation>
    </message>
    <message>
      <source>This filter cannot be read. {error}</source>
      <translation>Dieser Filter ist nicht lesbar. {error}</translation>
    </message>
    <message>
      <source>This is the current version.</source>
      <translation>Dies ist die aktuelle Version.</translation>
    </message>
    <message>
      <source>This is the same document: name another one, or a version.</source>
      <translation>Das ist dasselbe Dokument: Nennen Sie ein anderes oder eine Version.</translation>
    </message>
    <message>
      <source>This order cannot be read. {error}</source>
      <translation>Diese Sortierung ist nicht lesbar. {error}</translation>
    </message>
    <message>
      <source>This query is not explained</source>
      <translation>Diese Abfrage wird nicht erklärt</translation>
    </message>
    <message>
      <source>This value is in force now</source>
      <translation>Dieser Wert gilt jetzt</translation>
    </message>
    <message>
      <source>This version could not be shown</source>
      <translation>Diese Version konnte nicht gezeigt werden</translation>
    </message>
    <message>
      <source>This version says that the document is deleted.</source>
      <translation>Diese Version besagt, dass das Dokument gelöscht ist.</translation>
    </message>
    <message>
      <source>This write kept no content</source>
      <translation>Dieser Schreibvorgang hat keinen Inhalt aufbewahrt</translation>
    </message>
    <message>
      <source>Three documents as they would be read</source>
      <translation>Drei Dokumente, wie sie gelesen würden</translation>
    </message>
    <message>
      <source>Three documents, read this way</source>
      <translation>Drei Dokumente, so gelesen</translation>
    </message>
    <message>
      <source>Through</source>
      <translation>Über</translation>
    </message>
    <message>
      <source>Tick all that are old enough</source>
      <translation>Alle ankreuzen, die alt genug sind</translation>
    </message>
    <message>
      <source>Tick all that can be repaired</source>
      <translation>Alles Reparierbare ankreuzen</translation>
    </message>
    <message>
      <source>Tick, untick</source>
      <translation>Ankreuzen oder nicht</translation>
    </message>
    <message>
      <source>Time</source>
      <translation>Zeit</translation>
    </message>
    <message>
      <source>Time zone</source>
      <translation>Zeitzone</translation>
    </message>
    <message>
      <source>To an older, a newer version</source>
      <translation>Zu einer älteren, neueren Version</translation>
    </message>
    <message>
      <source>To the next control, the one before</source>
      <translation>Zum nächsten Element, zum vorigen</translation>
    </message>
    <message>
      <source>To the oldest, the newest</source>
      <translation>Zur ältesten, neuesten</translation>
    </message>
    <message>
      <source>To {ns} of {name}…</source>
      <translation>Nach {ns} in {name}…</translation>
    </message>
    <message>
      <source>Token</source>
      <translation>Token</translation>
    </message>
    <message>
      <source>Tokens finished meanwhile are skipped; undo from the journal.</source>
      <translation>Inzwischen abgeschlossene Token werden übersprungen; rückgängig geht es im Journal.</translation>
    </message>
    <message>
      <source>Took</source>
      <translation>Dauer</translation>
    </message>
    <message>
      <source>Topics</source>
      <translation>Themen</translation>
    </message>
    <message>
      <source>Total</source>
      <translation>Summe</translation>
    </message>
    <message>
      <source>Tree</source>
      <translation>Baum</translation>
    </message>
    <message>
      <source>Try again</source>
      <translation>Erneut versuchen</translation>
    </message>
    <message>
      <source>Try edits there; they are thrown away with the window, and the dump stays as it is</source>
      <translation>Bearbeitungen dort ausprobieren; sie verschwinden mit dem Fenster, und der Dump bleibt, wie er ist</translation>
    </message>
    <message>
      <source>Try now</source>
      <translation>Jetzt versuchen</translation>
    </message>
    <message>
      <source>Try the usual shapes of histories, and fill in one that fits</source>
      <translation>Die üblichen Formen von Verläufen versuchen und eine passende eintragen</translation>
    </message>
    <message>
      <source>Trying again in {left} s</source>
      <translation>Neuer Versuch in {left} s</translation>
    </message>
    <message>
      <source>Trying again…</source>
      <translation>Neuer Versuch…</translation>
    </message>
    <message>
      <source>Trying it without writing</source>
      <translation>Probelauf, ohne zu schreiben</translation>
    </message>
    <message>
      <source>Trying the usual shapes of histories</source>
      <translation>Die üblichen Formen von Verläufen werden versucht</translation>
    </message>
    <message>
      <source>Trying {title}</source>
      <translation>{title} wird getestet</translation>
    </message>
    <message>
      <source>Two collections: {name}</source>
      <translation>Zwei Sammlungen: {name}</translation>
    </message>
    <message>
      <source>Two documents</source>
      <translation>Zwei Dokumente</translation>
    </message>
    <message>
      <source>Two times of this collection…</source>
      <translation>Zwei Zeiten dieser Sammlung…</translation>
    </message>
    <message>
      <source>Two times: {name}</source>
      <translation>Zwei Zeiten: {name}</translation>
    </message>
    <message>
      <source>Two versions of the document that is chosen in the list are compared here.</source>
      <translation>Hier werden zwei Versionen des Dokuments verglichen, das in der Liste gewählt ist.</translation>
    </message>
    <message>
      <source>Type</source>
      <translation>Typ</translation>
    </message>
    <message>
      <source>Type a condition first.</source>
      <translation>Geben Sie zuerst eine Bedingung ein.</translation>
    </message>
    <message>
      <source>Type above what to replace</source>
      <translation>Geben Sie oben ein, was zu ersetzen ist</translation>
    </message>
    <message>
      <source>Type over a value or name</source>
      <translation>Wert oder Namen übertippen</translation>
    </message>
    <message>
      <source>Type the address of a server: mongodb://host:27017 or mongodb+srv://cluster.example.</source>
      <translation>Geben Sie die Adresse eines Servers ein: mongodb://host:27017 oder mongodb+srv://cluster.example.</translation>
    </message>
    <message>
      <source>Type the change above, such as { status: "closed" }, and press Enter.</source>
      <translation>Geben Sie oben die Änderung ein, etwa { status: "closed" }, und drücken Sie Enter.</translation>
    </message>
    <message>
      <source>Type the {kind}.</source>
      <translation>Geben Sie den Wert als {kind} ein.</translation>
    </message>
    <message>
      <source>Type the {kind}: the {kind2} cannot be converted into it.</source>
      <translation>Geben Sie den Wert als {kind} ein: {kind2} lässt sich nicht darin umwandeln.</translation>
    </message>
    <message>
      <source>Type {name} to go on</source>
      <translation>Geben Sie zum Fortfahren {name} ein</translation>
    </message>
    <message>
      <source>Type {typed} to go on</source>
      <translation>Geben Sie zum Fortfahren {typed} ein</translation>
    </message>
    <message>
      <source>Type {words}</source>
      <translation>Geben Sie {words} ein</translation>
    </message>
    <message>
      <source>Types</source>
      <translation>Typen</translation>
    </message>
    <message>
      <source>Undo</source>
      <translation>Rückgängig</translation>
    </message>
    <message>
      <source>Undo (Ctrl+Z)</source>
      <translation>Rückgängig (Strg+Z)</translation>
    </message>
    <message>
      <source>Undo the run</source>
      <translation>Lauf rückgängig machen</translation>
    </message>
    <message>
      <source>Undo the whole run</source>
      <translation>Ganzen Lauf rückgängig machen</translation>
    </message>
    <message>
      <source>Undo the whole run?</source>
      <translation>Ganzen Lauf rückgängig machen?</translation>
    </message>
    <message>
      <source>Undo the whole run…</source>
      <translation>Ganzen Lauf rückgängig machen…</translation>
    </message>
    <message>
      <source>Undo this change of the field; later edits of others stay</source>
      <translation>Diese Änderung des Felds zurücknehmen; spätere Bearbeitungen anderer Felder bleiben</translation>
    </message>
    <message>
      <source>Undo this write</source>
      <translation>Diesen Schreibvorgang rückgängig machen</translation>
    </message>
    <message>
      <source>Undo: {title} (Ctrl+Z)</source>
      <translation>Rückgängig: {title} (Strg+Z)</translation>
    </message>
    <message>
      <source>Undoing</source>
      <translation>Wird rückgängig gemacht</translation>
    </message>
    <message>
      <source>Undoing a run</source>
      <translation>Ein Lauf wird rückgängig gemacht</translation>
    </message>
    <message>
      <source>Undoing the repair</source>
      <translation>Die Reparatur wird rückgängig gemacht</translation>
    </message>
    <message>
      <source>Undone by {undone_by}</source>
      <translation>zurück durch {undone_by}</translation>
    </message>
    <message>
      <source>Undone: {detail}</source>
      <translation>Rückgängig gemacht: {detail}</translation>
    </message>
    <message>
      <source>Undone: {report}</source>
      <translation>Rückgängig gemacht: {report}</translation>
    </message>
    <message>
      <source>Unsafe</source>
      <translation>Unsicher</translation>
    </message>
    <message>
      <source>Unsaved: {fields}{since}</source>
      <translation>Ungespeichert: {fields}{since}</translation>
    </message>
    <message>
      <source>Untick all</source>
      <translation>Kein Kreuz lassen</translation>
    </message>
    <message>
      <source>Until</source>
      <translation>Bis</translation>
    </message>
    <message>
      <source>Until, included: 2026-11-01 09:30, 2026-11-01 or 7d</source>
      <translation>Bis einschließlich: 2026-11-01 09:30, 2026-11-01 oder 7d</translation>
    </message>
    <message>
      <source>Up, Down</source>
      <translation>Auf, Ab</translation>
    </message>
    <message>
      <source>Use &amp;TLS</source>
      <translation>&amp;TLS verwenden</translation>
    </message>
    <message>
      <source>Use database</source>
      <translation>Datenbank nehmen</translation>
    </message>
    <message>
      <source>Use it for writing all the same</source>
      <translation>Trotzdem zum Schreiben benutzen</translation>
    </message>
    <message>
      <source>Use mine</source>
      <translation>Meines nehmen</translation>
    </message>
    <message>
      <source>Use mine, for all unresolved</source>
      <translation>Meines nehmen, für alles Ungelöste</translation>
    </message>
    <message>
      <source>Use the database's</source>
      <translation>Das der Datenbank nehmen</translation>
    </message>
    <message>
      <source>Use the database's, for all unresolved</source>
      <translation>Das der Datenbank nehmen, für alles Ungelöste</translation>
    </message>
    <message>
      <source>Use this layout</source>
      <translation>Dieses Layout verwenden</translation>
    </message>
    <message>
      <source>Used</source>
      <translation>Benutzt</translation>
    </message>
    <message>
      <source>User</source>
      <translation>Benutzer</translation>
    </message>
    <message>
      <source>Value</source>
      <translation>Wert</translation>
    </message>
    <message>
      <source>Value of {name}, {kind}</source>
      <translation>Wert von {name}, {kind}</translation>
    </message>
    <message>
      <source>Value of {title}</source>
      <translation>Wert von {title}</translation>
    </message>
    <message>
      <source>Values from {label} to {label2} over {points:,} versions</source>
      <translation>Werte von {label} bis {label2} über {points:,} Versionen</translation>
    </message>
    <message>
      <source>Version</source>
      <translation>Version</translation>
    </message>
    <message>
      <source>Version of</source>
      <translation>Version von</translation>
    </message>
    <message>
      <source>Version {letter}</source>
      <translation>Version {letter}</translation>
    </message>
    <message>
      <source>Versions</source>
      <translation>Versionen</translation>
    </message>
    <message>
      <source>Versions at which the condition turns, newest first</source>
      <translation>Versionen, bei denen die Bedingung umschlägt, neueste zuerst</translation>
    </message>
    <message>
      <source>Versions that go</source>
      <translation>Versionen, die entfallen</translation>
    </message>
    <message>
      <source>Versions that set the field, newest first</source>
      <translation>Versionen, die das Feld setzten, neueste zuerst</translation>
    </message>
    <message>
      <source>Versions, newest first</source>
      <translation>Versionen, neueste zuerst</translation>
    </message>
    <message>
      <source>Watched</source>
      <translation>Überwacht</translation>
    </message>
    <message>
      <source>Way of logging in</source>
      <translation>Art der Anmeldung</translation>
    </message>
    <message>
      <source>Web page (*.html)</source>
      <translation>Webseite (*.html)</translation>
    </message>
    <message>
      <source>What</source>
      <translation>Was</translation>
    </message>
    <message>
      <source>What both sides changed</source>
      <translation>Was beide Seiten geändert haben</translation>
    </message>
    <message>
      <source>What can be done about the tokens shown</source>
      <translation>Was sich mit den gezeigten Token tun lässt</translation>
    </message>
    <message>
      <source>What changed in the database</source>
      <translation>Was sich in der Datenbank geändert hat</translation>
    </message>
    <message>
      <source>What comes</source>
      <translation>Was kommt</translation>
    </message>
    <message>
      <source>What differs between two collections</source>
      <translation>Was sich zwischen zwei Sammlungen unterscheidet</translation>
    </message>
    <message>
      <source>What differs between two times</source>
      <translation>Was sich zwischen zwei Zeiten unterscheidet</translation>
    </message>
    <message>
      <source>What differs between {ns} and the other collection is listed here.</source>
      <translation>Was sich zwischen {ns} und der anderen Sammlung unterscheidet, wird hier aufgelistet.</translation>
    </message>
    <message>
      <source>What does not count as a difference</source>
      <translation>Was nicht als Unterschied zählt</translation>
    </message>
    <message>
      <source>What finishing or dropping this token changes</source>
      <translation>Was Abschließen oder Streichen dieses Tokens ändert</translation>
    </message>
    <message>
      <source>What happens</source>
      <translation>Was geschieht</translation>
    </message>
    <message>
      <source>What is being done</source>
      <translation>Was gerade geschieht</translation>
    </message>
    <message>
      <source>What is inserted shows up here after a refresh.</source>
      <translation>Was eingefügt wird, erscheint hier nach dem Aktualisieren.</translation>
    </message>
    <message>
      <source>What is wrong with the text</source>
      <translation>Was am Text falsch ist</translation>
    </message>
    <message>
      <source>What now?</source>
      <translation>Was nun?</translation>
    </message>
    <message>
      <source>What saving sends</source>
      <translation>Was gesendet wird</translation>
    </message>
    <message>
      <source>What the move wrote there is removed; what somebody changed since stays.</source>
      <translation>Was der Umzug dort geschrieben hat, wird entfernt; was jemand seither geändert hat, bleibt.</translation>
    </message>
    <message>
      <source>What this collection is taken for, and why</source>
      <translation>Wofür diese Sammlung gehalten wird, und warum</translation>
    </message>
    <message>
      <source>What this server guarantees</source>
      <translation>Was dieser Server zusichert</translation>
    </message>
    <message>
      <source>What this write changed</source>
      <translation>Was dieser Schreibvorgang änderte</translation>
    </message>
    <message>
      <source>What to put into a profile</source>
      <translation>Was in ein Profil gehört</translation>
    </message>
    <message>
      <source>What was added, removed and changed between them is listed here.</source>
      <translation>Was dazwischen hinzukam, entfernt und geändert wurde, wird hier aufgeführt.</translation>
    </message>
    <message>
      <source>What was exported comes back with its ids, versions, times, authors and reasons.</source>
      <translation>Was exportiert wurde, kommt mit Ids, Versionen, Zeiten, Autoren und Gründen zurück.</translation>
    </message>
    <message>
      <source>What was found</source>
      <translation>Was gefunden wurde</translation>
    </message>
    <message>
      <source>What was kept of the scans could not be read</source>
      <translation>Die Aufzeichnungen der Prüfläufe konnten nicht gelesen werden</translation>
    </message>
    <message>
      <source>What was written is in the journal, where each token can be undone.</source>
      <translation>Was geschrieben wurde, steht im Journal, jedes Token mit seinem Rückweg.</translation>
    </message>
    <message>
      <source>What would be copied?</source>
      <translation>Was würde kopiert?</translation>
    </message>
    <message>
      <source>What would change</source>
      <translation>Was sich ändern würde</translation>
    </message>
    <message>
      <source>What you changed is forgotten. The document in the database is not touched.</source>
      <translation>Ihre Änderungen werden vergessen. Das Dokument in der Datenbank bleibt unberührt.</translation>
    </message>
    <message>
      <source>What you chose while it was being saved is not kept: the document's draft is of another edit</source>
      <translation>Was Sie während des Speicherns gewählt haben, wird nicht behalten: Der Entwurf des Dokuments gehört zu einer anderen Änderung</translation>
    </message>
    <message>
      <source>What you save, restore, finish or undo is listed here, each with its way back.</source>
      <translation>Was Sie speichern, wiederherstellen, abschließen oder rückgängig machen, steht hier, jeweils mit seinem Rückweg.</translation>
    </message>
    <message>
      <source>What you typed since then is still unsaved here</source>
      <translation>Was Sie seither getippt haben, steht hier noch ungespeichert</translation>
    </message>
    <message>
      <source>When</source>
      <translation>Wann</translation>
    </message>
    <message>
      <source>When did it become true?</source>
      <translation>Wann wurde es wahr?</translation>
    </message>
    <message>
      <source>When you opened it   {was}</source>
      <translation>Als Sie es öffneten   {was}</translation>
    </message>
    <message>
      <source>Where</source>
      <translation>Wo</translation>
    </message>
    <message>
      <source>Where it comes from</source>
      <translation>Woher es kommt</translation>
    </message>
    <message>
      <source>Where the scans looked</source>
      <translation>Wo die Prüfläufe nachsahen</translation>
    </message>
    <message>
      <source>Where they lie</source>
      <translation>Wo sie liegen</translation>
    </message>
    <message>
      <source>Where to look</source>
      <translation>Wo zu suchen ist</translation>
    </message>
    <message>
      <source>Where versions are kept, and how that is recognised</source>
      <translation>Wo Versionen liegen und wie das erkannt wird</translation>
    </message>
    <message>
      <source>Whether it keeps two writers apart: press to see what a measurement does</source>
      <translation>Ob er zwei Schreibende auseinanderhält: drücken, um zu sehen, was eine Messung tut</translation>
    </message>
    <message>
      <source>Whether writes are allowed cannot be changed here</source>
      <translation>Ob geschrieben werden darf, lässt sich hier nicht ändern</translation>
    </message>
    <message>
      <source>Whether {name} keeps two writers apart has not been measured yet. That takes a second, in a scratch database, {database}, that is dropped afterwards.</source>
      <translation>Noch wurde nicht gemessen, ob {name} zwei Schreiber auseinanderhält. Es dauert eine Sekunde, in einer Wegwerf-Datenbank, {database}, die danach gelöscht wird.</translation>
    </message>
    <message>
      <source>Which other collection?</source>
      <translation>Welche andere Sammlung?</translation>
    </message>
    <message>
      <source>Which two times?</source>
      <translation>Welche zwei Zeiten?</translation>
    </message>
    <message>
      <source>Who changed what</source>
      <translation>Wer hat was geändert</translation>
    </message>
    <message>
      <source>Who changed what in {name}</source>
      <translation>Wer was geändert hat in {name}</translation>
    </message>
    <message>
      <source>Who changed what in {place} of {name}</source>
      <translation>Wer was geändert hat in {place} von {name}</translation>
    </message>
    <message>
      <source>Who set each field</source>
      <translation>Wer jedes Feld setzte</translation>
    </message>
    <message>
      <source>Why</source>
      <translation>Warum</translation>
    </message>
    <message>
      <source>Why it stays out</source>
      <translation>Warum es draußen bleibt</translation>
    </message>
    <message>
      <source>Wider columns (+)</source>
      <translation>Breitere Spalten (+)</translation>
    </message>
    <message>
      <source>Wider, narrower</source>
      <translation>Breiter, schmaler</translation>
    </message>
    <message>
      <source>Wider, narrower columns</source>
      <translation>Breitere, schmalere Spalten</translation>
    </message>
    <message>
      <source>Without a date</source>
      <translation>Ohne Datum</translation>
    </message>
    <message>
      <source>Without a password, this computer's ticket is used (kinit).</source>
      <translation>Ohne Passwort wird das Ticket dieses Computers benutzt (kinit).</translation>
    </message>
    <message>
      <source>Work out again what would be written; nothing is written</source>
      <translation>Noch einmal ermitteln, was geschrieben würde; geschrieben wird nichts</translation>
    </message>
    <message>
      <source>Would be changed</source>
      <translation>Würde geändert</translation>
    </message>
    <message>
      <source>Would be copied</source>
      <translation>Würde kopiert</translation>
    </message>
    <message>
      <source>Would be deleted</source>
      <translation>Würde gelöscht</translation>
    </message>
    <message>
      <source>Would be erased:</source>
      <translation>Gelöscht würden:</translation>
    </message>
    <message>
      <source>Would be imported: {said}</source>
      <translation>Würde importiert: {said}</translation>
    </message>
    <message>
      <source>Would be removed</source>
      <translation>Würde entfernt</translation>
    </message>
    <message>
      <source>Would make {field} {before} → {after}</source>
      <translation>Würde {field} ändern: {before} → {after}</translation>
    </message>
    <message>
      <source>Write it as 90m, 24h, 7d or 2 weeks.</source>
      <translation>Schreiben Sie es als 90m, 24h, 7d oder 2 weeks.</translation>
    </message>
    <message>
      <source>Write the report to</source>
      <translation>Bericht schreiben nach</translation>
    </message>
    <message>
      <source>Writes</source>
      <translation>Schreibvorgänge</translation>
    </message>
    <message>
      <source>Writes allowed</source>
      <translation>Schreiben erlaubt</translation>
    </message>
    <message>
      <source>Writes are not allowed here</source>
      <translation>Schreiben ist hier nicht erlaubt</translation>
    </message>
    <message>
      <source>Writing</source>
      <translation>Schreiben</translation>
    </message>
    <message>
      <source>Writing JSON</source>
      <translation>JSON wird geschrieben</translation>
    </message>
    <message>
      <source>Written</source>
      <translation>Geschrieben</translation>
    </message>
    <message>
      <source>Written by saving the current document only</source>
      <translation>Wird nur durch Speichern des aktuellen Dokuments geschrieben</translation>
    </message>
    <message>
      <source>Written by {writer}</source>
      <translation>Geschrieben von {writer}</translation>
    </message>
    <message>
      <source>Written by {writer}: read-only here</source>
      <translation>Geschrieben von {writer}: hier schreibgeschützt</translation>
    </message>
    <message>
      <source>X.509 certificate</source>
      <translation>X.509-Zertifikat</translation>
    </message>
    <message>
      <source>Yesterday</source>
      <translation>Gestern</translation>
    </message>
    <message>
      <source>You changed none of these fields</source>
      <translation>Sie haben keines dieser Felder geändert</translation>
    </message>
    <message>
      <source>You changed {touched} of these fields as well, and both changes fit together</source>
      <translation>Sie haben {touched} dieser Felder ebenfalls geändert, und beide Änderungen passen zusammen</translation>
    </message>
    <message>
      <source>You changed {touched} of these fields as well. Review and merge asks you about</source>
      <translation>Sie haben {touched} dieser Felder ebenfalls geändert. „Zusammenführen“ fragt Sie nach</translation>
    </message>
    <message>
      <source>You opened {was}</source>
      <translation>Sie haben {was} geöffnet</translation>
    </message>
    <message>
      <source>You opened {was}. The database is at {now} now.</source>
      <translation>Sie haben {was} geöffnet. Die Datenbank steht jetzt bei {now}.</translation>
    </message>
    <message>
      <source>You typed on while it was being sent; this is your edit as it is on the screen now.</source>
      <translation>Sie haben weitergetippt, während gesendet wurde; dies ist Ihre Bearbeitung, wie sie jetzt auf dem Bildschirm steht.</translation>
    </message>
    <message>
      <source>Young; would make {field} {before} → {after}</source>
      <translation>Jung; würde {field} ändern: {before} → {after}</translation>
    </message>
    <message>
      <source>Younger than the grace period: left out</source>
      <translation>Jünger als die Schonfrist: ausgelassen</translation>
    </message>
    <message>
      <source>Your changes</source>
      <translation>Ihre Änderungen</translation>
    </message>
    <message>
      <source>Your draft</source>
      <translation>Ihr Entwurf</translation>
    </message>
    <message>
      <source>Your edit</source>
      <translation>Ihre Bearbeitung</translation>
    </message>
    <message>
      <source>Your edit   draft</source>
      <translation>Ihre Bearbeitung   Entwurf</translation>
    </message>
    <message>
      <source>Your edit has all that was changed in the database since you opened it; nothing would be lost.</source>
      <translation>Ihre Bearbeitung enthält alles, was in der Datenbank seit dem Öffnen geändert wurde; nichts ginge verloren.</translation>
    </message>
    <message>
      <source>Your edit is already in the database</source>
      <translation>Ihre Bearbeitung ist schon in der Datenbank</translation>
    </message>
    <message>
      <source>Your edit is kept as a draft</source>
      <translation>Ihre Bearbeitung ist als Entwurf behalten</translation>
    </message>
    <message>
      <source>Your edit is kept.</source>
      <translation>Ihre Bearbeitung ist behalten.</translation>
    </message>
    <message>
      <source>Your edit is kept; nothing was written.</source>
      <translation>Ihre Bearbeitung ist behalten; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Your edit of {id} is kept as a draft</source>
      <translation>Ihre Bearbeitung von {id} ist als Entwurf behalten</translation>
    </message>
    <message>
      <source>Your edit{how} and what you decided here would be forgotten. The database stays as it is.</source>
      <translation>Ihre Bearbeitung{how} und was Sie hier entschieden haben, wären vergessen. Die Datenbank bleibt, wie sie ist.</translation>
    </message>
    <message>
      <source>Your name</source>
      <translation>Ihr Name</translation>
    </message>
    <message>
      <source>Your typing is still being read; save again in a moment</source>
      <translation>Das Getippte wird noch gelesen; speichern Sie gleich noch einmal</translation>
    </message>
    <message>
      <source>Yours</source>
      <translation>Ihres</translation>
    </message>
    <message>
      <source>Yours, typed: {action}</source>
      <translation>Ihres, getippt: {action}</translation>
    </message>
    <message>
      <source>a column</source>
      <translation>eine Spalte</translation>
    </message>
    <message>
      <source>a dump</source>
      <translation>ein Dump</translation>
    </message>
    <message>
      <source>a few seconds</source>
      <translation>einige Sekunden</translation>
    </message>
    <message>
      <source>a field</source>
      <translation>ein Feld</translation>
    </message>
    <message>
      <source>about {max} minutes</source>
      <translation>etwa {max} Minuten</translation>
    </message>
    <message>
      <source>about {seconds:.0f} seconds</source>
      <translation>etwa {seconds:.0f} Sekunden</translation>
    </message>
    <message>
      <source>about {seconds:g} hours</source>
      <translation>etwa {seconds:g} Stunden</translation>
    </message>
    <message>
      <source>absent</source>
      <translation>nicht vorhanden</translation>
    </message>
    <message>
      <source>add {added}</source>
      <translation>{added} hinzufügen</translation>
    </message>
    <message>
      <source>add {kind}</source>
      <translation>{kind} hinzufügen</translation>
    </message>
    <message>
      <source>add {kind} to {where}</source>
      <translation>{kind} zu {where} hinzufügen</translation>
    </message>
    <message>
      <source>added</source>
      <translation>hinzugefügt</translation>
    </message>
    <message>
      <source>after</source>
      <translation>nachher</translation>
    </message>
    <message>
      <source>ahead</source>
      <translation>voraus</translation>
    </message>
    <message>
      <source>all</source>
      <translation>alle</translation>
    </message>
    <message>
      <source>all collections of {name}</source>
      <translation>alle Sammlungen von {name}</translation>
    </message>
    <message>
      <source>all databases</source>
      <translation>allen Datenbanken</translation>
    </message>
    <message>
      <source>all documents</source>
      <translation>alle Dokumente</translation>
    </message>
    <message>
      <source>all in the sample, nothing to install</source>
      <translation>alles im Beispiel, nichts zu installieren</translation>
    </message>
    <message>
      <source>all of</source>
      <translation>alle</translation>
    </message>
    <message>
      <source>all {name}</source>
      <translation>alle {name}</translation>
    </message>
    <message>
      <source>all {versions}</source>
      <translation>alle {versions}</translation>
    </message>
    <message>
      <source>allowed</source>
      <translation>erlaubt</translation>
    </message>
    <message>
      <source>an application</source>
      <translation>einer Anwendung</translation>
    </message>
    <message>
      <source>an element</source>
      <translation>ein Element</translation>
    </message>
    <message>
      <source>an element with all of</source>
      <translation>ein Element mit allen</translation>
    </message>
    <message>
      <source>an expression</source>
      <translation>ein Ausdruck</translation>
    </message>
    <message>
      <source>and back</source>
      <translation>und zurück</translation>
    </message>
    <message>
      <source>and {count} more</source>
      <translation>und {count} weitere</translation>
    </message>
    <message>
      <source>and {further_fields}</source>
      <translation>und {further_fields}</translation>
    </message>
    <message>
      <source>and {more_changes}</source>
      <translation>und {more_changes}</translation>
    </message>
    <message>
      <source>any character</source>
      <translation>ein Zeichen</translation>
    </message>
    <message>
      <source>any of</source>
      <translation>irgendeines</translation>
    </message>
    <message>
      <source>any version</source>
      <translation>jede Version</translation>
    </message>
    <message>
      <source>api://… or the audience</source>
      <translation>api://… oder die Audience</translation>
    </message>
    <message>
      <source>applies</source>
      <translation>gilt</translation>
    </message>
    <message>
      <source>apply</source>
      <translation>gelten</translation>
    </message>
    <message>
      <source>archive</source>
      <translation>Archiv</translation>
    </message>
    <message numerus="yes">
      <source>archived copy</source>
      <comment>count</comment>
      <translation>
        <numerusform>archivierte Kopie</numerusform>
        <numerusform>archivierte Kopien</numerusform>
      </translation>
    </message>
    <message>
      <source>are</source>
      <translation>sind</translation>
    </message>
    <message>
      <source>arrived</source>
      <translation>angekommen</translation>
    </message>
    <message>
      <source>as before</source>
      <translation>wie zuvor</translation>
    </message>
    <message>
      <source>as in {example}</source>
      <translation>etwa {example}</translation>
    </message>
    <message>
      <source>as in {old}</source>
      <translation>wie in {old}</translation>
    </message>
    <message>
      <source>as it is shown here</source>
      <translation>so, wie sie hier gezeigt wird,</translation>
    </message>
    <message>
      <source>as it is typed</source>
      <translation>wie eingegeben</translation>
    </message>
    <message>
      <source>as it stood then</source>
      <translation>wie es damals stand</translation>
    </message>
    <message>
      <source>as kept on {when}</source>
      <translation>wie aufbewahrt am {when}</translation>
    </message>
    <message>
      <source>as long as this connection is open</source>
      <translation>solange diese Verbindung offen ist</translation>
    </message>
    <message>
      <source>as many as</source>
      <translation>so viele wie</translation>
    </message>
    <message>
      <source>as of the old .NET driver</source>
      <translation>wie beim alten .NET-Treiber</translation>
    </message>
    <message>
      <source>as of the old Java driver</source>
      <translation>wie beim alten Java-Treiber</translation>
    </message>
    <message>
      <source>as of the old Python driver</source>
      <translation>wie beim alten Python-Treiber</translation>
    </message>
    <message>
      <source>as of {moment}</source>
      <translation>Stand {moment}</translation>
    </message>
    <message>
      <source>as stored; the content alone is {own}</source>
      <translation>wie gespeichert; der Inhalt allein hat {own}</translation>
    </message>
    <message>
      <source>as their bytes tell</source>
      <translation>wie ihre Bytes es zeigen</translation>
    </message>
    <message>
      <source>ascending</source>
      <translation>aufsteigend</translation>
    </message>
    <message>
      <source>at </source>
      <translation>bei </translation>
    </message>
    <message>
      <source>at most</source>
      <translation>zeigen</translation>
    </message>
    <message>
      <source>before</source>
      <translation>vorher</translation>
    </message>
    <message>
      <source>behind</source>
      <translation>zurück</translation>
    </message>
    <message>
      <source>beyond that the newest of each day</source>
      <translation>darüber hinaus die neueste jedes Tages</translation>
    </message>
    <message>
      <source>both added here</source>
      <translation>beide haben hier hinzugefügt</translation>
    </message>
    <message>
      <source>both added it</source>
      <translation>beide haben es hinzugefügt</translation>
    </message>
    <message>
      <source>both changed it</source>
      <translation>beide haben es geändert</translation>
    </message>
    <message>
      <source>both reordered it</source>
      <translation>beide haben es neu geordnet</translation>
    </message>
    <message>
      <source>by {author}</source>
      <translation>von {author}</translation>
    </message>
    <message>
      <source>cannot be read</source>
      <translation>nicht lesbar</translation>
    </message>
    <message>
      <source>cannot be ticked</source>
      <translation>nicht ankreuzbar</translation>
    </message>
    <message numerus="yes">
      <source>cell begins</source>
      <comment>count</comment>
      <translation>
        <numerusform>Zelle beginnt</numerusform>
        <numerusform>Zellen beginnen</numerusform>
      </translation>
    </message>
    <message>
      <source>change</source>
      <translation>ändern</translation>
    </message>
    <message numerus="yes">
      <source>change</source>
      <comment>count</comment>
      <translation>
        <numerusform>Änderung</numerusform>
        <numerusform>Änderungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>change after a gap, so what it set is not known</source>
      <comment>count</comment>
      <translation>
        <numerusform>Änderung nach einer Lücke; was sie setzte, ist nicht bekannt</numerusform>
        <numerusform>Änderungen nach einer Lücke; was sie setzten, ist nicht bekannt</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>change is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Änderung ist</numerusform>
        <numerusform>Änderungen sind</numerusform>
      </translation>
    </message>
    <message>
      <source>change the JSON</source>
      <translation>JSON ändern</translation>
    </message>
    <message>
      <source>change {name}</source>
      <translation>{name} ändern</translation>
    </message>
    <message>
      <source>change {path}</source>
      <translation>{path} ändern</translation>
    </message>
    <message>
      <source>changed</source>
      <translation>geändert</translation>
    </message>
    <message numerus="yes">
      <source>changed field</source>
      <comment>count</comment>
      <translation>
        <numerusform>geändertes Feld</numerusform>
        <numerusform>geänderte Felder</numerusform>
      </translation>
    </message>
    <message>
      <source>changed in the database</source>
      <translation>in der Datenbank geändert</translation>
    </message>
    <message>
      <source>changed inside</source>
      <translation>darin geändert</translation>
    </message>
    <message>
      <source>changed meanwhile</source>
      <translation>inzwischen geändert</translation>
    </message>
    <message>
      <source>changed meanwhile and stayed</source>
      <translation>inzwischen geändert und geblieben</translation>
    </message>
    <message>
      <source>changes</source>
      <translation>ändert</translation>
    </message>
    <message numerus="yes">
      <source>choice</source>
      <comment>count</comment>
      <translation>
        <numerusform>Entscheidung</numerusform>
        <numerusform>Entscheidungen</numerusform>
      </translation>
    </message>
    <message>
      <source>choose for {before} fields</source>
      <translation>für {before} Felder wählen</translation>
    </message>
    <message>
      <source>choose for {place}</source>
      <translation>für {place} wählen</translation>
    </message>
    <message>
      <source>choose one</source>
      <translation>bitte wählen</translation>
    </message>
    <message numerus="yes">
      <source>class</source>
      <comment>count</comment>
      <translation>
        <numerusform>Klasse</numerusform>
        <numerusform>Klassen</numerusform>
      </translation>
    </message>
    <message>
      <source>clock</source>
      <translation>Uhr</translation>
    </message>
    <message numerus="yes">
      <source>collection</source>
      <comment>count</comment>
      <translation>
        <numerusform>Sammlung</numerusform>
        <numerusform>Sammlungen</numerusform>
      </translation>
    </message>
    <message>
      <source>collection {name}, layout {layout}{by}</source>
      <translation>Sammlung {name}, Layout {layout}{by}</translation>
    </message>
    <message>
      <source>collection {name}, not read yet</source>
      <translation>Sammlung {name}, noch nicht gelesen</translation>
    </message>
    <message>
      <source>conflict, not decided</source>
      <translation>Konflikt, nicht entschieden</translation>
    </message>
    <message>
      <source>connected</source>
      <translation>verbunden</translation>
    </message>
    <message numerus="yes">
      <source>counter</source>
      <comment>count</comment>
      <translation>
        <numerusform>Zähler</numerusform>
        <numerusform>Zähler</numerusform>
      </translation>
    </message>
    <message>
      <source>created</source>
      <translation>angelegt</translation>
    </message>
    <message>
      <source>current</source>
      <translation>aktuell</translation>
    </message>
    <message numerus="yes">
      <source>current flag</source>
      <comment>count</comment>
      <translation>
        <numerusform>Kennung</numerusform>
        <numerusform>Kennungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>current version</source>
      <comment>count</comment>
      <translation>
        <numerusform>aktuelle Version</numerusform>
        <numerusform>aktuelle Versionen</numerusform>
      </translation>
    </message>
    <message>
      <source>damaged</source>
      <translation>beschädigt</translation>
    </message>
    <message>
      <source>database {name}</source>
      <translation>Datenbank {name}</translation>
    </message>
    <message numerus="yes">
      <source>day</source>
      <comment>count</comment>
      <translation>
        <numerusform>Tag</numerusform>
        <numerusform>Tage</numerusform>
      </translation>
    </message>
    <message>
      <source>default</source>
      <translation>Vorgabe</translation>
    </message>
    <message>
      <source>deleted</source>
      <translation>gelöscht</translation>
    </message>
    <message>
      <source>deleted documents</source>
      <translation>gelöschte Dokumente</translation>
    </message>
    <message>
      <source>deleted in the database</source>
      <translation>in der Datenbank gelöscht</translation>
    </message>
    <message>
      <source>delta</source>
      <translation>Delta</translation>
    </message>
    <message>
      <source>descending</source>
      <translation>absteigend</translation>
    </message>
    <message>
      <source>did not arrive</source>
      <translation>nicht angekommen</translation>
    </message>
    <message>
      <source>diverged</source>
      <translation>auseinandergelaufen</translation>
    </message>
    <message>
      <source>document</source>
      <translation>Dokument</translation>
    </message>
    <message numerus="yes">
      <source>document</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument</numerusform>
        <numerusform>Dokumente</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document cannot</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument ist nicht</numerusform>
        <numerusform>Dokumente sind nicht</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document has</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument hat</numerusform>
        <numerusform>Dokumente haben</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument ist</numerusform>
        <numerusform>Dokumente sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document stays</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument bleibt</numerusform>
        <numerusform>Dokumente bleiben</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>document was</source>
      <comment>count</comment>
      <translation>
        <numerusform>Dokument wurde</numerusform>
        <numerusform>Dokumente wurden</numerusform>
      </translation>
    </message>
    <message>
      <source>documents, then list</source>
      <translation>Dokumente, dann höchstens</translation>
    </message>
    <message>
      <source>does not hold in any</source>
      <translation>gilt in keiner</translation>
    </message>
    <message>
      <source>down</source>
      <translation>nach unten</translation>
    </message>
    <message>
      <source>draft</source>
      <translation>Entwurf</translation>
    </message>
    <message numerus="yes">
      <source>draft</source>
      <comment>count</comment>
      <translation>
        <numerusform>Entwurf</numerusform>
        <numerusform>Entwürfe</numerusform>
      </translation>
    </message>
    <message>
      <source>dropped</source>
      <translation>gestrichen</translation>
    </message>
    <message numerus="yes">
      <source>duplicate version</source>
      <comment>count</comment>
      <translation>
        <numerusform>doppelte Version</numerusform>
        <numerusform>doppelte Versionen</numerusform>
      </translation>
    </message>
    <message>
      <source>duplicate {name}</source>
      <translation>{name} duplizieren</translation>
    </message>
    <message numerus="yes">
      <source>edit is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Bearbeitung ist</numerusform>
        <numerusform>Bearbeitungen sind</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>edit was</source>
      <comment>count</comment>
      <translation>
        <numerusform>Bearbeitung wurde</numerusform>
        <numerusform>Bearbeitungen wurden</numerusform>
      </translation>
    </message>
    <message>
      <source>edited</source>
      <translation>bearbeitet</translation>
    </message>
    <message>
      <source>eight</source>
      <translation>acht</translation>
    </message>
    <message numerus="yes">
      <source>element</source>
      <comment>count</comment>
      <translation>
        <numerusform>Element</numerusform>
        <numerusform>Elemente</numerusform>
      </translation>
    </message>
    <message>
      <source>elements</source>
      <translation>Elemente</translation>
    </message>
    <message>
      <source>empties a field</source>
      <translation>leert ein Feld</translation>
    </message>
    <message>
      <source>equal</source>
      <translation>gleich</translation>
    </message>
    <message>
      <source>everything</source>
      <translation>alles</translation>
    </message>
    <message>
      <source>fewer</source>
      <translation>weniger</translation>
    </message>
    <message numerus="yes">
      <source>field</source>
      <comment>count</comment>
      <translation>
        <numerusform>Feld</numerusform>
        <numerusform>Felder</numerusform>
      </translation>
    </message>
    <message>
      <source>fields changed</source>
      <translation>geänderte Felder</translation>
    </message>
    <message>
      <source>fields in another order</source>
      <translation>Felder in anderer Reihenfolge</translation>
    </message>
    <message>
      <source>file</source>
      <translation>Datei</translation>
    </message>
    <message numerus="yes">
      <source>file</source>
      <comment>count</comment>
      <translation>
        <numerusform>Datei</numerusform>
        <numerusform>Dateien</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>finding</source>
      <comment>count</comment>
      <translation>
        <numerusform>Befund</numerusform>
        <numerusform>Befunde</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>finding is</source>
      <comment>count</comment>
      <translation>
        <numerusform>Befund ist</numerusform>
        <numerusform>Befunde sind</numerusform>
      </translation>
    </message>
    <message>
      <source>finds its token gone, and what it counts is lost</source>
      <translation>findet sein Token nicht mehr, und was er zählt, geht verloren</translation>
    </message>
    <message>
      <source>finds its work done</source>
      <translation>findet seine Arbeit getan vor</translation>
    </message>
    <message>
      <source>finished</source>
      <translation>abgeschlossen</translation>
    </message>
    <message>
      <source>five</source>
      <translation>fünf</translation>
    </message>
    <message>
      <source>forward</source>
      <translation>vorwärts</translation>
    </message>
    <message>
      <source>four</source>
      <translation>vier</translation>
    </message>
    <message>
      <source>from both</source>
      <translation>von beiden</translation>
    </message>
    <message>
      <source>from the database</source>
      <translation>aus der Datenbank</translation>
    </message>
    <message>
      <source>from the start</source>
      <translation>von Anfang an</translation>
    </message>
    <message>
      <source>from your edit</source>
      <translation>aus Ihrer Bearbeitung</translation>
    </message>
    <message>
      <source>from {base}</source>
      <translation>aus {base}</translation>
    </message>
    <message numerus="yes">
      <source>further field</source>
      <comment>count</comment>
      <translation>
        <numerusform>weiteres Feld</numerusform>
        <numerusform>weitere Felder</numerusform>
      </translation>
    </message>
    <message>
      <source>gap</source>
      <translation>Lücke</translation>
    </message>
    <message>
      <source>given another type</source>
      <translation>mit anderem Typ versehen</translation>
    </message>
    <message>
      <source>greater</source>
      <translation>größer</translation>
    </message>
    <message>
      <source>greater or equal</source>
      <translation>größer oder gleich</translation>
    </message>
    <message>
      <source>has</source>
      <translation>hat</translation>
    </message>
    <message>
      <source>has your edit in the database already</source>
      <translation>hat Ihre Bearbeitung schon in der Datenbank</translation>
    </message>
    <message numerus="yes">
      <source>hash</source>
      <comment>count</comment>
      <translation>
        <numerusform>Hash</numerusform>
        <numerusform>Hashes</numerusform>
      </translation>
    </message>
    <message>
      <source>hash unknown</source>
      <translation>Hash unbekannt</translation>
    </message>
    <message>
      <source>have</source>
      <translation>haben</translation>
    </message>
    <message>
      <source>hidden</source>
      <translation>ausgeblendet</translation>
    </message>
    <message numerus="yes">
      <source>history</source>
      <comment>count</comment>
      <translation>
        <numerusform>Verlauf</numerusform>
        <numerusform>Verläufe</numerusform>
      </translation>
    </message>
    <message>
      <source>history: {said}</source>
      <translation>Verlauf: {said}</translation>
    </message>
    <message numerus="yes">
      <source>hit</source>
      <comment>count</comment>
      <translation>
        <numerusform>Treffer</numerusform>
        <numerusform>Treffer</numerusform>
      </translation>
    </message>
    <message>
      <source>holder.name, holder.phone</source>
      <translation>holder.name, holder.phone</translation>
    </message>
    <message>
      <source>holds all of</source>
      <translation>enthält alle</translation>
    </message>
    <message>
      <source>holds in each</source>
      <translation>gilt in jeder</translation>
    </message>
    <message>
      <source>in</source>
      <translation>in</translation>
    </message>
    <message>
      <source>in another order</source>
      <translation>in anderer Reihenfolge</translation>
    </message>
    <message>
      <source>in any version of a document</source>
      <translation>in irgendeiner Version eines Dokuments</translation>
    </message>
    <message>
      <source>in force now</source>
      <translation>gilt jetzt</translation>
    </message>
    <message>
      <source>in memory</source>
      <translation>im Speicher</translation>
    </message>
    <message>
      <source>in the current version of a document</source>
      <translation>in der aktuellen Version eines Dokuments</translation>
    </message>
    <message>
      <source>in the database</source>
      <translation>in der Datenbank</translation>
    </message>
    <message>
      <source>in the last version of a document</source>
      <translation>in der letzten Version eines Dokuments</translation>
    </message>
    <message>
      <source>in use</source>
      <translation>in Gebrauch</translation>
    </message>
    <message>
      <source>inside, last set by</source>
      <translation>darin, zuletzt gesetzt von</translation>
    </message>
    <message>
      <source>into the field above</source>
      <translation>in das Feld darüber</translation>
    </message>
    <message>
      <source>is</source>
      <translation>ist</translation>
    </message>
    <message>
      <source>is as it was from the start</source>
      <translation>ist, wie es von Anfang an war</translation>
    </message>
    <message>
      <source>is as it was {did} in</source>
      <translation>ist, wie es {did} wurde in</translation>
    </message>
    <message>
      <source>is at another place</source>
      <translation>steht an anderer Stelle</translation>
    </message>
    <message>
      <source>is missing: {detail}</source>
      <translation>fehlt: {detail}</translation>
    </message>
    <message>
      <source>is not there</source>
      <translation>ist nicht vorhanden</translation>
    </message>
    <message>
      <source>is not there in</source>
      <translation>ist nicht vorhanden in</translation>
    </message>
    <message>
      <source>it</source>
      <translation>es</translation>
    </message>
    <message>
      <source>it does not hold</source>
      <translation>gilt nicht</translation>
    </message>
    <message>
      <source>it does not hold from here on</source>
      <translation>ab hier gilt sie nicht</translation>
    </message>
    <message>
      <source>it holds</source>
      <translation>gilt</translation>
    </message>
    <message>
      <source>it holds from here on</source>
      <translation>ab hier gilt sie</translation>
    </message>
    <message>
      <source>it may have become {name}</source>
      <translation>es ist vielleicht zu {name} geworden</translation>
    </message>
    <message>
      <source>it may have been {name}</source>
      <translation>es war vielleicht {name}</translation>
    </message>
    <message numerus="yes">
      <source>item</source>
      <comment>count</comment>
      <translation>
        <numerusform>Posten</numerusform>
        <numerusform>Posten</numerusform>
      </translation>
    </message>
    <message>
      <source>journal</source>
      <translation>Journal</translation>
    </message>
    <message>
      <source>kept states</source>
      <translation>aufbewahrte Zustände</translation>
    </message>
    <message>
      <source>last set by</source>
      <translation>zuletzt gesetzt von</translation>
    </message>
    <message>
      <source>left empty: a new ObjectId</source>
      <translation>leer gelassen: eine neue ObjectId</translation>
    </message>
    <message>
      <source>left empty: a new one</source>
      <translation>leer gelassen: ein neues</translation>
    </message>
    <message>
      <source>left empty: all documents</source>
      <translation>leer: alle Dokumente</translation>
    </message>
    <message>
      <source>left empty: the current one</source>
      <translation>leer gelassen: die aktuelle</translation>
    </message>
    <message>
      <source>left empty: the host</source>
      <translation>leer gelassen: der Host</translation>
    </message>
    <message>
      <source>left empty: the ids</source>
      <translation>leer gelassen: die IDs</translation>
    </message>
    <message>
      <source>left out: the layout's own</source>
      <translation>ausgelassen: eigenes Feld des Layouts</translation>
    </message>
    <message>
      <source>less</source>
      <translation>kleiner</translation>
    </message>
    <message>
      <source>less or equal</source>
      <translation>kleiner oder gleich</translation>
    </message>
    <message>
      <source>limit {limit}</source>
      <translation>höchstens {limit}</translation>
    </message>
    <message numerus="yes">
      <source>list</source>
      <comment>count</comment>
      <translation>
        <numerusform>Liste</numerusform>
        <numerusform>Listen</numerusform>
      </translation>
    </message>
    <message>
      <source>locked</source>
      <translation>gesperrt</translation>
    </message>
    <message>
      <source>make {name} a {kind}</source>
      <translation>{name} zu {kind} machen</translation>
    </message>
    <message>
      <source>matches a pattern</source>
      <translation>passt zu einem Muster</translation>
    </message>
    <message>
      <source>merged</source>
      <translation>zusammengeführt</translation>
    </message>
    <message>
      <source>merged from both</source>
      <translation>aus beiden zusammengeführt</translation>
    </message>
    <message>
      <source>missing</source>
      <translation>fehlt</translation>
    </message>
    <message numerus="yes">
      <source>missing version is</source>
      <comment>count</comment>
      <translation>
        <numerusform>fehlende Version ist</numerusform>
        <numerusform>fehlende Versionen sind</numerusform>
      </translation>
    </message>
    <message>
      <source>mongodb://  or  mongodb+srv://</source>
      <translation>mongodb://  oder  mongodb+srv://</translation>
    </message>
    <message>
      <source>more</source>
      <translation>mehr</translation>
    </message>
    <message numerus="yes">
      <source>more change</source>
      <comment>count</comment>
      <translation>
        <numerusform>weitere Änderung</numerusform>
        <numerusform>weitere Änderungen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>more field</source>
      <comment>count</comment>
      <translation>
        <numerusform>weiteres Feld</numerusform>
        <numerusform>weitere Felder</numerusform>
      </translation>
    </message>
    <message>
      <source>move {name} {how}</source>
      <translation>{name} {how} schieben</translation>
    </message>
    <message>
      <source>move {name} {where}</source>
      <translation>{name} {where} schieben</translation>
    </message>
    <message>
      <source>moved</source>
      <translation>verschoben</translation>
    </message>
    <message>
      <source>never landed</source>
      <translation>nie angekommen</translation>
    </message>
    <message>
      <source>nine</source>
      <translation>neun</translation>
    </message>
    <message>
      <source>no</source>
      <translation>keines</translation>
    </message>
    <message>
      <source>no bytes</source>
      <translation>keine Bytes</translation>
    </message>
    <message>
      <source>no certificate</source>
      <translation>kein Zertifikat</translation>
    </message>
    <message>
      <source>no change</source>
      <translation>keine Änderung</translation>
    </message>
    <message>
      <source>no changes</source>
      <translation>keine Änderungen</translation>
    </message>
    <message>
      <source>no column</source>
      <translation>keine Spalte</translation>
    </message>
    <message>
      <source>no date</source>
      <translation>kein Datum</translation>
    </message>
    <message>
      <source>no version</source>
      <translation>keine Version</translation>
    </message>
    <message>
      <source>none</source>
      <translation>keine</translation>
    </message>
    <message>
      <source>none of</source>
      <translation>keines von</translation>
    </message>
    <message>
      <source>none: layouts are recognised</source>
      <translation>keines: Layouts werden erkannt</translation>
    </message>
    <message>
      <source>not changed</source>
      <translation>nicht geändert</translation>
    </message>
    <message>
      <source>not connected</source>
      <translation>nicht verbunden</translation>
    </message>
    <message>
      <source>not counted: {versions} above the current one, which never landed</source>
      <translation>nicht mitgezählt: {versions} über der aktuellen, nie angekommen</translation>
    </message>
    <message>
      <source>not decided</source>
      <translation>nicht entschieden</translation>
    </message>
    <message>
      <source>not decided: choose above or type a value</source>
      <translation>nicht entschieden: oben wählen oder einen Wert tippen</translation>
    </message>
    <message>
      <source>not equal</source>
      <translation>ungleich</translation>
    </message>
    <message>
      <source>not exact</source>
      <translation>nicht genau</translation>
    </message>
    <message>
      <source>not installed as a package</source>
      <translation>nicht als Paket installiert</translation>
    </message>
    <message>
      <source>not known</source>
      <translation>nicht bekannt</translation>
    </message>
    <message>
      <source>not proven</source>
      <translation>nicht belegt</translation>
    </message>
    <message>
      <source>not saved</source>
      <translation>nicht gespeichert</translation>
    </message>
    <message>
      <source>not sent</source>
      <translation>nicht gesendet</translation>
    </message>
    <message>
      <source>not taken</source>
      <translation>nicht genommen</translation>
    </message>
    <message>
      <source>not there</source>
      <translation>nicht vorhanden</translation>
    </message>
    <message>
      <source>not there any more</source>
      <translation>nicht mehr vorhanden</translation>
    </message>
    <message>
      <source>not ticked</source>
      <translation>nicht angekreuzt</translation>
    </message>
    <message>
      <source>nothing differs</source>
      <translation>kein Unterschied</translation>
    </message>
    <message>
      <source>nothing here</source>
      <translation>hier nichts</translation>
    </message>
    <message>
      <source>now</source>
      <translation>jetzt</translation>
    </message>
    <message>
      <source>of a type</source>
      <translation>von einem Typ</translation>
    </message>
    <message>
      <source>offered</source>
      <translation>angeboten</translation>
    </message>
    <message>
      <source>on this computer</source>
      <translation>auf diesem Computer</translation>
    </message>
    <message>
      <source>on {on} at the latest</source>
      <translation>spätestens am {on}</translation>
    </message>
    <message>
      <source>on {on}{by}</source>
      <translation>am {on}{by}</translation>
    </message>
    <message>
      <source>one</source>
      <translation>eines</translation>
    </message>
    <message>
      <source>one of</source>
      <translation>eines von</translation>
    </message>
    <message>
      <source>one of {totals}</source>
      <translation>eines von {totals}</translation>
    </message>
    <message>
      <source>only here</source>
      <translation>nur hier</translation>
    </message>
    <message>
      <source>only there</source>
      <translation>nur dort</translation>
    </message>
    <message>
      <source>only with keys for a time</source>
      <translation>nur bei befristeten Schlüsseln</translation>
    </message>
    <message>
      <source>operation: {operation}</source>
      <translation>Vorgang: {operation}</translation>
    </message>
    <message>
      <source>order of the fields</source>
      <translation>Reihenfolge der Felder</translation>
    </message>
    <message>
      <source>out of its container</source>
      <translation>aus seinem Behälter</translation>
    </message>
    <message>
      <source>overwritten since</source>
      <translation>seitdem überschrieben</translation>
    </message>
    <message numerus="yes">
      <source>path</source>
      <comment>count</comment>
      <translation>
        <numerusform>Pfad</numerusform>
        <numerusform>Pfade</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>pending token</source>
      <comment>count</comment>
      <translation>
        <numerusform>offenes Token</numerusform>
        <numerusform>offene Token</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>phantom version</source>
      <comment>count</comment>
      <translation>
        <numerusform>Phantomversion</numerusform>
        <numerusform>Phantomversionen</numerusform>
      </translation>
    </message>
    <message>
      <source>premium.gross descending, _id</source>
      <translation>premium.gross descending, _id</translation>
    </message>
    <message>
      <source>prev</source>
      <translation>prev</translation>
    </message>
    <message numerus="yes">
      <source>prev array</source>
      <comment>count</comment>
      <translation>
        <numerusform>prev-Array</numerusform>
        <numerusform>prev-Arrays</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>promise</source>
      <comment>count</comment>
      <translation>
        <numerusform>Zusage</numerusform>
        <numerusform>Zusagen</numerusform>
      </translation>
    </message>
    <message>
      <source>quarantine</source>
      <translation>Quarantäne</translation>
    </message>
    <message>
      <source>read-only</source>
      <translation>schreibgeschützt</translation>
    </message>
    <message>
      <source>reading</source>
      <translation>wird gelesen</translation>
    </message>
    <message>
      <source>reason: {reason}</source>
      <translation>Grund: {reason}</translation>
    </message>
    <message>
      <source>recognised</source>
      <translation>erkannt</translation>
    </message>
    <message>
      <source>refused</source>
      <translation>abgelehnt</translation>
    </message>
    <message>
      <source>remainder</source>
      <translation>Rest</translation>
    </message>
    <message>
      <source>remove {name}</source>
      <translation>{name} entfernen</translation>
    </message>
    <message>
      <source>removed</source>
      <translation>entfernt</translation>
    </message>
    <message>
      <source>rename {name}</source>
      <translation>{name} umbenennen</translation>
    </message>
    <message>
      <source>reopen {place}</source>
      <translation>{place} wieder öffnen</translation>
    </message>
    <message>
      <source>reordered</source>
      <translation>umgeordnet</translation>
    </message>
    <message numerus="yes">
      <source>repair</source>
      <comment>count</comment>
      <translation>
        <numerusform>Reparatur</numerusform>
        <numerusform>Reparaturen</numerusform>
      </translation>
    </message>
    <message>
      <source>repaired</source>
      <translation>repariert</translation>
    </message>
    <message>
      <source>replace {said} by {by}</source>
      <translation>{said} durch {by} ersetzen</translation>
    </message>
    <message>
      <source>restored</source>
      <translation>wiederhergestellt</translation>
    </message>
    <message>
      <source>retention or loss</source>
      <translation>Aufbewahrung oder Verlust</translation>
    </message>
    <message>
      <source>retyped</source>
      <translation>anderer Typ</translation>
    </message>
    <message>
      <source>revert everything</source>
      <translation>alles zurücksetzen</translation>
    </message>
    <message>
      <source>revert {change}</source>
      <translation>{change} zurücksetzen</translation>
    </message>
    <message numerus="yes">
      <source>row</source>
      <comment>count</comment>
      <translation>
        <numerusform>Zeile</numerusform>
        <numerusform>Zeilen</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>scan</source>
      <comment>count</comment>
      <translation>
        <numerusform>Prüflauf</numerusform>
        <numerusform>Prüfläufe</numerusform>
      </translation>
    </message>
    <message>
      <source>set</source>
      <translation>gesetzt</translation>
    </message>
    <message>
      <source>set here, in force now</source>
      <translation>hier gesetzt, gilt jetzt</translation>
    </message>
    <message>
      <source>seven</source>
      <translation>sieben</translation>
    </message>
    <message>
      <source>six</source>
      <translation>sechs</translation>
    </message>
    <message>
      <source>skip {skip}</source>
      <translation>{skip} überspringen</translation>
    </message>
    <message>
      <source>skipped</source>
      <translation>übersprungen</translation>
    </message>
    <message>
      <source>someone else</source>
      <translation>jemand anderes</translation>
    </message>
    <message>
      <source>somewhere in a gap</source>
      <translation>irgendwo in einer Lücke</translation>
    </message>
    <message>
      <source>stands in the certificate</source>
      <translation>steht in der Bescheinigung</translation>
    </message>
    <message>
      <source>stated</source>
      <translation>angegeben</translation>
    </message>
    <message>
      <source>status, premium.gross</source>
      <translation>status, premium.gross</translation>
    </message>
    <message>
      <source>still unknown</source>
      <translation>weiter unbekannt</translation>
    </message>
    <message>
      <source>stopped</source>
      <translation>angehalten</translation>
    </message>
    <message>
      <source>stopped before its end</source>
      <translation>vor dem Ende angehalten</translation>
    </message>
    <message>
      <source>stored in {places}</source>
      <translation>gespeichert in: {places}</translation>
    </message>
    <message>
      <source>take the database's</source>
      <translation>das der Datenbank nehmen</translation>
    </message>
    <message>
      <source>take their values</source>
      <translation>nehmen ihre Werte</translation>
    </message>
    <message>
      <source>take {field} from {name}</source>
      <translation>{field} aus {name} übernehmen</translation>
    </message>
    <message>
      <source>taken</source>
      <translation>genommen</translation>
    </message>
    <message>
      <source>takes its value</source>
      <translation>nimmt seinen Wert</translation>
    </message>
    <message>
      <source>takes no part: {detail}</source>
      <translation>bleibt außen vor: {detail}</translation>
    </message>
    <message>
      <source>text edited</source>
      <translation>Text bearbeitet</translation>
    </message>
    <message>
      <source>that one</source>
      <translation>diesem einen</translation>
    </message>
    <message>
      <source>the clipboard</source>
      <translation>die Zwischenablage</translation>
    </message>
    <message>
      <source>the collection</source>
      <translation>die Sammlung</translation>
    </message>
    <message>
      <source>the content</source>
      <translation>dem Inhalt</translation>
    </message>
    <message>
      <source>the current document</source>
      <translation>das aktuelle Dokument</translation>
    </message>
    <message>
      <source>the database</source>
      <translation>der Datenbank</translation>
    </message>
    <message>
      <source>the database of the address, else admin</source>
      <translation>die Datenbank der Adresse, sonst admin</translation>
    </message>
    <message>
      <source>the database removed it, you changed it</source>
      <translation>die Datenbank hat es entfernt, Sie haben es geändert</translation>
    </message>
    <message>
      <source>the database removed it, you moved it</source>
      <translation>die Datenbank hat es entfernt, Sie haben es verschoben</translation>
    </message>
    <message>
      <source>the document</source>
      <translation>das Dokument</translation>
    </message>
    <message>
      <source>the draft of A's document</source>
      <translation>den Entwurf des Dokuments von A</translation>
    </message>
    <message>
      <source>the draft of B's document</source>
      <translation>den Entwurf des Dokuments von B</translation>
    </message>
    <message>
      <source>the field that is raised</source>
      <translation>das Feld, das erhöht wird</translation>
    </message>
    <message>
      <source>the newest by {author}</source>
      <translation>die neueste von {author}</translation>
    </message>
    <message>
      <source>the newest {keep}</source>
      <translation>die neuesten {keep}</translation>
    </message>
    <message>
      <source>the next number, when it is inserted</source>
      <translation>die nächste Nummer, beim Einfügen</translation>
    </message>
    <message>
      <source>the opposite</source>
      <translation>das Gegenteil</translation>
    </message>
    <message>
      <source>the others merge by themselves and are shown</source>
      <translation>die übrigen werden von selbst zusammengeführt und gezeigt</translation>
    </message>
    <message>
      <source>the present content</source>
      <translation>der jetzige Inhalt</translation>
    </message>
    <message>
      <source>the rest unchanged</source>
      <translation>der Rest unverändert</translation>
    </message>
    <message>
      <source>the sample</source>
      <translation>„sample:“</translation>
    </message>
    <message>
      <source>the system's certificates</source>
      <translation>die Zertifikate des Systems</translation>
    </message>
    <message>
      <source>the user's own</source>
      <translation>der des Benutzers</translation>
    </message>
    <message>
      <source>the versions</source>
      <translation>die Versionen</translation>
    </message>
    <message>
      <source>the whole document</source>
      <translation>das ganze Dokument</translation>
    </message>
    <message>
      <source>there from the start</source>
      <translation>von Anfang an vorhanden</translation>
    </message>
    <message>
      <source>there or not</source>
      <translation>vorhanden oder nicht</translation>
    </message>
    <message>
      <source>they</source>
      <translation>sie</translation>
    </message>
    <message>
      <source>they are listed below</source>
      <translation>sie sind unten gelistet</translation>
    </message>
    <message>
      <source>this document</source>
      <translation>diesem Dokument</translation>
    </message>
    <message>
      <source>those {asked}</source>
      <translation>diesen {asked}</translation>
    </message>
    <message>
      <source>three</source>
      <translation>drei</translation>
    </message>
    <message>
      <source>ticked</source>
      <translation>angekreuzt</translation>
    </message>
    <message>
      <source>today, {time}</source>
      <translation>heute, {time}</translation>
    </message>
    <message numerus="yes">
      <source>token</source>
      <comment>count</comment>
      <translation>
        <numerusform>Token</numerusform>
        <numerusform>Token</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <source>turn</source>
      <comment>count</comment>
      <translation>
        <numerusform>Umschlag</numerusform>
        <numerusform>Umschläge</numerusform>
      </translation>
    </message>
    <message>
      <source>two</source>
      <translation>zwei</translation>
    </message>
    <message>
      <source>type only</source>
      <translation>nur der Typ</translation>
    </message>
    <message>
      <source>typed by you</source>
      <translation>von Ihnen getippt</translation>
    </message>
    <message>
      <source>unchanged</source>
      <translation>unverändert</translation>
    </message>
    <message numerus="yes">
      <source>unchanged field</source>
      <comment>count</comment>
      <translation>
        <numerusform>unverändertes Feld</numerusform>
        <numerusform>unveränderte Felder</numerusform>
      </translation>
    </message>
    <message>
      <source>under a second</source>
      <translation>unter einer Sekunde</translation>
    </message>
    <message>
      <source>unknown</source>
      <translation>unbekannt</translation>
    </message>
    <message>
      <source>unproven</source>
      <translation>unbelegt</translation>
    </message>
    <message>
      <source>unreadable {kind}, {data}</source>
      <translation>unlesbar: {kind}, {data}</translation>
    </message>
    <message>
      <source>up</source>
      <translation>nach oben</translation>
    </message>
    <message>
      <source>user@bastion, or a name of ~/.ssh/config</source>
      <translation>user@bastion oder ein Name aus ~/.ssh/config</translation>
    </message>
    <message numerus="yes">
      <source>version</source>
      <comment>count</comment>
      <translation>
        <numerusform>Version</numerusform>
        <numerusform>Versionen</numerusform>
      </translation>
    </message>
    <message>
      <source>version missing</source>
      <translation>Version fehlt</translation>
    </message>
    <message>
      <source>version {said}</source>
      <translation>Version {said}</translation>
    </message>
    <message>
      <source>versions</source>
      <translation>Versionen</translation>
    </message>
    <message>
      <source>was deleted in the database</source>
      <translation>wurde in der Datenbank gelöscht</translation>
    </message>
    <message>
      <source>was not there</source>
      <translation>war nicht vorhanden</translation>
    </message>
    <message>
      <source>was {did} in</source>
      <translation>wurde {did} in</translation>
    </message>
    <message>
      <source>was {did} somewhere in</source>
      <translation>wurde {did} irgendwo in</translation>
    </message>
    <message>
      <source>watched condition turned</source>
      <translation>überwachte Bedingung kippte</translation>
    </message>
    <message>
      <source>what is processed, such as 2026-11</source>
      <translation>was erledigt wird, etwa 2026-11</translation>
    </message>
    <message>
      <source>what is younger than {age}</source>
      <translation>was jünger ist als {age}</translation>
    </message>
    <message>
      <source>what matches {filter}</source>
      <translation>was auf {filter} passt</translation>
    </message>
    <message>
      <source>what would be saved</source>
      <translation>was gespeichert würde</translation>
    </message>
    <message>
      <source>what would be saved as {following}, against {now}</source>
      <translation>was als {following} gespeichert würde, gegenüber {now}</translation>
    </message>
    <message>
      <source>when you opened it</source>
      <translation>als Sie es öffneten</translation>
    </message>
    <message>
      <source>who counts, for a new token</source>
      <translation>wer zählt, für ein neues Token</translation>
    </message>
    <message>
      <source>with {field_names}</source>
      <translation>mit {field_names}</translation>
    </message>
    <message>
      <source>without {versions}</source>
      <translation>ohne {versions}</translation>
    </message>
    <message numerus="yes">
      <source>write</source>
      <comment>count</comment>
      <translation>
        <numerusform>Schreibvorgang</numerusform>
        <numerusform>Schreibvorgänge</numerusform>
      </translation>
    </message>
    <message>
      <source>yesterday</source>
      <translation>gestern</translation>
    </message>
    <message>
      <source>you</source>
      <translation>Sie</translation>
    </message>
    <message>
      <source>you and {other} added different elements at the same place</source>
      <translation>Sie und {other} haben an derselben Stelle verschiedene Elemente hinzugefügt</translation>
    </message>
    <message>
      <source>you and {other} added it with different values</source>
      <translation>Sie und {other} haben es mit verschiedenen Werten hinzugefügt</translation>
    </message>
    <message>
      <source>you and {other} put it into different orders</source>
      <translation>Sie und {other} haben es verschieden geordnet</translation>
    </message>
    <message>
      <source>you removed it, the database changed it</source>
      <translation>Sie haben es entfernt, die Datenbank hat es geändert</translation>
    </message>
    <message>
      <source>you removed it, the database moved it</source>
      <translation>Sie haben es entfernt, die Datenbank hat es verschoben</translation>
    </message>
    <message>
      <source>you removed it, {other} changed it</source>
      <translation>Sie haben es entfernt, {other} hat es geändert</translation>
    </message>
    <message>
      <source>you removed it, {other} moved it</source>
      <translation>Sie haben es entfernt, {other} hat es verschoben</translation>
    </message>
    <message>
      <source>your edit</source>
      <translation>Ihre Bearbeitung</translation>
    </message>
    <message>
      <source>{ 1 field }</source>
      <translation>{ 1 Feld }</translation>
    </message>
    <message>
      <source>{ status: "disputed" }</source>
      <translation>{ status: "disputed" }</translation>
    </message>
    <message>
      <source>{above} above the current one, never landed</source>
      <translation>{above} über der aktuellen, nie angekommen</translation>
    </message>
    <message>
      <source>{action} of {document}</source>
      <translation>{action} von {document}</translation>
    </message>
    <message>
      <source>{amount} a second</source>
      <translation>{amount} je Sekunde</translation>
    </message>
    <message>
      <source>{at} of {hits}</source>
      <translation>{at} von {hits}</translation>
    </message>
    <message>
      <source>{at} of {hits} here</source>
      <translation>{at} von {hits:dative} hier</translation>
    </message>
    <message>
      <source>{at} of {of}</source>
      <translation>{at} von {of}</translation>
    </message>
    <message>
      <source>{author} deleted it, {at}.</source>
      <translation>{author} hat es gelöscht, {at}.</translation>
    </message>
    <message>
      <source>{a}, Space to see it</source>
      <translation>{a}, Leertaste zeigt es</translation>
    </message>
    <message>
      <source>{before}; {missing} between, it may be one of those</source>
      <translation>{before}; {missing} dazwischen, es kann eine davon sein</translation>
    </message>
    <message>
      <source>{bytes} bytes</source>
      <translation>{bytes} Bytes</translation>
    </message>
    <message>
      <source>{bytes}; open it to read it</source>
      <translation>{bytes}; zum Lesen öffnen</translation>
    </message>
    <message>
      <source>{by} more</source>
      <translation>{by} mehr</translation>
    </message>
    <message>
      <source>{by} {how} than</source>
      <translation>{by} {how} als</translation>
    </message>
    <message>
      <source>{b} cannot be shown: {detail}.</source>
      <translation>{b} kann nicht gezeigt werden: {detail}.</translation>
    </message>
    <message>
      <source>{b}, Space to see it</source>
      <translation>{b}, Leertaste zeigt es</translation>
    </message>
    <message>
      <source>{changed_fields} would be forgotten, and the draft with them.</source>
      <translation>Verworfen würden {changed_fields} und der Entwurf dazu.</translation>
    </message>
    <message>
      <source>{changes:,} hidden</source>
      <translation>{changes:,} ausgeblendet</translation>
    </message>
    <message>
      <source>{changes} here</source>
      <translation>{changes} hier</translation>
    </message>
    <message>
      <source>{changes} hidden by {paths}</source>
      <translation>{changes} durch {paths} ausgeblendet</translation>
    </message>
    <message>
      <source>{changes} hidden.</source>
      <translation>{changes} ausgeblendet.</translation>
    </message>
    <message>
      <source>{changes} in the document; a click goes to the nearest</source>
      <translation>{changes} im Dokument; ein Klick geht zur nächsten</translation>
    </message>
    <message>
      <source>{changes} in {versions}</source>
      <translation>{changes} in {versions:dative}</translation>
    </message>
    <message>
      <source>{changes} inside</source>
      <translation>{changes} darin</translation>
    </message>
    <message>
      <source>{changes} made in the database since you opened it would be lost:</source>
      <translation>In der Datenbank gemacht, seit Sie es geöffnet haben, und verloren wären {changes}:</translation>
    </message>
    <message>
      <source>{changes} of {documents}</source>
      <translation>{changes}, {documents}</translation>
    </message>
    <message>
      <source>{changes} of {documents}. Each document as it would be without them; later edits of other fields stay.</source>
      <translation>{changes}, {documents}. Jedes Dokument, wie es ohne sie wäre; spätere Änderungen anderer Felder bleiben.</translation>
    </message>
    <message>
      <source>{changes} with a time before that of an earlier version: a clock was wrong</source>
      <translation>{changes} mit einer Zeit vor der einer früheren Version: eine Uhr ging falsch</translation>
    </message>
    <message>
      <source>{changes} without a time at the end</source>
      <translation>{changes} ohne Zeit am Ende</translation>
    </message>
    <message>
      <source>{changes} without a time left out</source>
      <translation>{changes} ohne Zeit weggelassen</translation>
    </message>
    <message>
      <source>{classes} of findings.</source>
      <translation>{classes} von Befunden.</translation>
    </message>
    <message>
      <source>{counts} unknown, the journal can look again</source>
      <translation>{counts} unbekannt, das Journal kann nachsehen</translation>
    </message>
    <message>
      <source>{count} are different there and were left alone.</source>
      <translation>{count} sind dort anders und blieben unberührt.</translation>
    </message>
    <message>
      <source>{count} are so already</source>
      <translation>{count} sind schon so</translation>
    </message>
    <message>
      <source>{count} are the same on both sides</source>
      <translation>{count} auf beiden Seiten gleich</translation>
    </message>
    <message>
      <source>{count} cannot be changed</source>
      <translation>{count} können nicht geändert werden</translation>
    </message>
    <message>
      <source>{count} cannot be copied</source>
      <translation>{count} können nicht kopiert werden</translation>
    </message>
    <message>
      <source>{count} cannot be taken back</source>
      <translation>{count} nicht zurückzunehmen</translation>
    </message>
    <message>
      <source>{count} cannot lose versions</source>
      <translation>{count} können keine Versionen verlieren</translation>
    </message>
    <message>
      <source>{count} changed meanwhile</source>
      <translation>{count} inzwischen geändert</translation>
    </message>
    <message>
      <source>{count} in {where} ({place})</source>
      <translation>{count} in {where} ({place})</translation>
    </message>
    <message>
      <source>{count} keep all versions</source>
      <translation>{count} behalten alle Versionen</translation>
    </message>
    <message>
      <source>{count} of these match the filter on one side only.</source>
      <translation>{count} davon passen nur auf einer Seite auf den Filter.</translation>
    </message>
    <message>
      <source>{count} wait for a decision</source>
      <translation>{count} warten auf eine Entscheidung</translation>
    </message>
    <message>
      <source>{count} with nothing left to take back</source>
      <translation>{count} ohne etwas Zurückzunehmendes</translation>
    </message>
    <message>
      <source>{count} would be written</source>
      <translation>{count} zu schreiben</translation>
    </message>
    <message>
      <source>{count} would lose versions</source>
      <translation>{count} verlören Versionen</translation>
    </message>
    <message>
      <source>{count}, kept {where}: counts alone, no document</source>
      <translation>{count}, aufbewahrt {where}: nur Zahlen, kein Dokument</translation>
    </message>
    <message>
      <source>{days} days</source>
      <translation>{days} Tage</translation>
    </message>
    <message>
      <source>{days} days ago</source>
      <translation>vor {days} Tagen</translation>
    </message>
    <message>
      <source>{days} without a change</source>
      <translation>{days} ohne Änderung</translation>
    </message>
    <message>
      <source>{day} {month} {year}</source>
      <translation>{day}. {month} {year}</translation>
    </message>
    <message>
      <source>{day} {month} {year} {time}</source>
      <translation>{day}. {month} {year}, {time}</translation>
    </message>
    <message>
      <source>{day}: {changes}</source>
      <translation>{day}: {changes}</translation>
    </message>
    <message>
      <source>{documents_were} checked, and each is as its layout requires.</source>
      <translation>{documents_were} geprüft, und jedes ist so, wie sein Layout es verlangt.</translation>
    </message>
    <message>
      <source>{documents} a second</source>
      <translation>{documents} je Sekunde</translation>
    </message>
    <message>
      <source>{documents} as they were typed</source>
      <translation>{documents}, wie sie eingegeben wurden</translation>
    </message>
    <message>
      <source>{documents} cannot be stored here.</source>
      <translation>Hier nicht speicherbar: {documents}.</translation>
    </message>
    <message>
      <source>{documents} in {name}. </source>
      <translation>{documents} in {name}. </translation>
    </message>
    <message>
      <source>{documents} of {all} would be imported, {versions} in all.</source>
      <translation>{documents} von {all:dative} würden importiert, insgesamt {versions}.</translation>
    </message>
    <message>
      <source>{documents} of {documents2}</source>
      <translation>{documents} von {documents2:dative}</translation>
    </message>
    <message>
      <source>{documents} of {documents2} would be inserted.</source>
      <translation>Eingefügt würden {documents} von {documents2:dative}.</translation>
    </message>
    <message>
      <source>{documents} of {ns}</source>
      <translation>{documents} von {ns}</translation>
    </message>
    <message>
      <source>{documents} of {ns} in {name}, to {ns2}.</source>
      <translation>{documents} aus {ns} in {name}, nach {ns2}.</translation>
    </message>
    <message>
      <source>{documents} taken back</source>
      <translation>{documents} zurückgenommen</translation>
    </message>
    <message>
      <source>{documents} were read.</source>
      <translation>{documents} gelesen.</translation>
    </message>
    <message>
      <source>{documents} with versions were read.</source>
      <translation>{documents} mit Versionen gelesen.</translation>
    </message>
    <message>
      <source>{documents} would be deleted{stays}, each only if it is still as listed here. {kept} Undo brings all of them back.</source>
      <translation>Gelöscht würden {documents}{stays}. Jedes verschwindet nur, wenn es noch ist wie hier gelistet. {kept} Rückgängig bringt alle zurück.</translation>
    </message>
    <message>
      <source>{documents}, {bytes}, written to {path}</source>
      <translation>{documents}, {bytes}, nach {path} geschrieben</translation>
    </message>
    <message>
      <source>{documents}. Each is written as an edit is, as a version of its own where versions are kept.</source>
      <translation>{documents}. Jedes wird wie eine Änderung geschrieben, als eigene Version, wo Versionen aufbewahrt werden.</translation>
    </message>
    <message>
      <source>{done} done before it broke off</source>
      <translation>{done} erledigt, bevor es abbrach</translation>
    </message>
    <message>
      <source>{done} of about {total}. Everything else can be used meanwhile.</source>
      <translation>{done} von etwa {total}. Alles andere lässt sich inzwischen benutzen.</translation>
    </message>
    <message>
      <source>{done} of {total}</source>
      <translation>{done} von {total}</translation>
    </message>
    <message>
      <source>{done} so far.</source>
      <translation>{done} bisher.</translation>
    </message>
    <message>
      <source>{done}{of} documents so far</source>
      <translation>Dokumente bisher: {done}{of}</translation>
    </message>
    <message>
      <source>{done}{of} read</source>
      <translation>{done}{of} gelesen</translation>
    </message>
    <message>
      <source>{doubt} So this layout is not used for writing here.</source>
      <translation>{doubt} Dieses Layout wird hier daher nicht zum Schreiben benutzt.</translation>
    </message>
    <message>
      <source>{edits} kept; open {source} to go on.</source>
      <translation>{edits} aufbewahrt; öffnen Sie {source}, um weiterzumachen.</translation>
    </message>
    <message>
      <source>{error} It is tried again.</source>
      <translation>{error} Es wird erneut versucht.</translation>
    </message>
    <message>
      <source>{fields} and {more} more</source>
      <translation>{fields} und {more} weitere</translation>
    </message>
    <message>
      <source>{fields} still to decide</source>
      <translation>noch zu entscheiden: {fields}</translation>
    </message>
    <message>
      <source>{fields} unchanged</source>
      <translation>{fields} unverändert</translation>
    </message>
    <message>
      <source>{fields} {takes} from {old} in a new version</source>
      <translation>In einer neuen Version {takes} {fields} von {old}</translation>
    </message>
    <message>
      <source>{fields}, set by {versions}</source>
      <translation>{fields}, gesetzt von {versions:dative}</translation>
    </message>
    <message>
      <source>{field} is taken from {name} into the draft</source>
      <translation>{field} ist aus {name} in den Entwurf übernommen</translation>
    </message>
    <message>
      <source>{findings} new; scan again to see what.</source>
      <translation>{findings} neu; prüfen Sie erneut, um zu sehen, was.</translation>
    </message>
    <message>
      <source>{findings} on {at}</source>
      <translation>{findings} am {at}</translation>
    </message>
    <message>
      <source>{findings} repaired</source>
      <translation>{findings} repariert</translation>
    </message>
    <message>
      <source>{first} and {second}</source>
      <translation>{first} und {second}</translation>
    </message>
    <message>
      <source>{first} missing</source>
      <translation>{first} fehlt</translation>
    </message>
    <message>
      <source>{first}–{last} missing</source>
      <translation>{first}–{last} fehlen</translation>
    </message>
    <message>
      <source>{had} an id that is taken: the document that has it stays as it is.</source>
      <translation>{had} eine Id, die vergeben ist: Das Dokument, das sie hat, bleibt, wie es ist.</translation>
    </message>
    <message>
      <source>{hours} h</source>
      <translation>{hours} h</translation>
    </message>
    <message>
      <source>{how} {documents} in {span}, {at}</source>
      <translation>{how} {documents} in {span}, {at}</translation>
    </message>
    <message>
      <source>{how}. The edits merge by themselves; Review and merge shows the result first.</source>
      <translation>{how}. Die Bearbeitungen führen sich von selbst zusammen; „Zusammenführen“ zeigt zuerst das Ergebnis.</translation>
    </message>
    <message>
      <source>{id} and {id2}</source>
      <translation>{id} und {id2}</translation>
    </message>
    <message>
      <source>{id} changed since it was compared; refresh, then restore.</source>
      <translation>{id} hat sich seit dem Vergleich geändert; aktualisieren Sie und stellen Sie dann wieder her.</translation>
    </message>
    <message>
      <source>{id} is not in {ns} any more; choose another document.</source>
      <translation>{id} ist nicht mehr in {ns}; wählen Sie ein anderes Dokument.</translation>
    </message>
    <message>
      <source>{id} is not there</source>
      <translation>{id} ist nicht vorhanden</translation>
    </message>
    <message>
      <source>{id}, {one}, as stored</source>
      <translation>{id}, {one}, wie gespeichert</translation>
    </message>
    <message>
      <source>{inside} inside</source>
      <translation>{inside} darin</translation>
    </message>
    <message>
      <source>{kept} not saved: {title}. It is kept as a draft and opens again with the connection.</source>
      <translation>{kept} nicht gespeichert: {title}. Sie bleibt als Entwurf und öffnet sich wieder mit der Verbindung.</translation>
    </message>
    <message>
      <source>{kept} not saved: {title}. They are kept as drafts and open again with the connection.</source>
      <translation>{kept} nicht gespeichert: {title}. Sie bleiben als Entwürfe und öffnen sich wieder mit der Verbindung.</translation>
    </message>
    <message>
      <source>{kept}; not in the current version</source>
      <translation>{kept}; nicht in der aktuellen Version</translation>
    </message>
    <message>
      <source>{kept}Your edit is saved only if the database is still {said}; if it changes again, you are asked again.</source>
      <translation>{kept}Ihre Bearbeitung wird nur gespeichert, wenn die Datenbank noch {said} ist; rückt sie wieder weiter, werden Sie erneut gefragt.</translation>
    </message>
    <message>
      <source>{key} = {old} becomes {new}</source>
      <translation>{key} = {old} wird zu {new}</translation>
    </message>
    <message>
      <source>{key} = {old} is removed</source>
      <translation>{key} = {old} entfällt</translation>
    </message>
    <message>
      <source>{key} = {value} stays</source>
      <translation>{key} = {value} bleibt</translation>
    </message>
    <message>
      <source>{key} becomes {new}</source>
      <translation>{key} wird zu {new}</translation>
    </message>
    <message>
      <source>{key} is not there any more; read the history again.</source>
      <translation>{key} gibt es nicht mehr; lesen Sie den Verlauf neu.</translation>
    </message>
    <message>
      <source>{key} is not there any more; refresh the list.</source>
      <translation>{key} gibt es nicht mehr; aktualisieren Sie die Liste.</translation>
    </message>
    <message>
      <source>{key} is not there in that version any more; refresh the map.</source>
      <translation>{key} gibt es in dieser Version nicht mehr; aktualisieren Sie die Karte.</translation>
    </message>
    <message>
      <source>{kind} as {path} has</source>
      <translation>{kind}, wie {path} ihn hat</translation>
    </message>
    <message>
      <source>{kind} of {length}, not loaded</source>
      <translation>{kind} mit {length}, nicht geladen</translation>
    </message>
    <message>
      <source>{kind} of {size}</source>
      <translation>{kind}, {size}</translation>
    </message>
    <message>
      <source>{kind}, in other documents of this collection {usual}</source>
      <translation>{kind}, in anderen Dokumenten dieser Sammlung {usual}</translation>
    </message>
    <message>
      <source>{labels} ({key}); with Shift for everything unresolved</source>
      <translation>{labels} ({key}); mit Umschalt für alles Ungelöste</translation>
    </message>
    <message>
      <source>{label} is a whole number; {typed} is none.</source>
      <translation>{label} ist eine ganze Zahl; {typed} ist keine.</translation>
    </message>
    <message>
      <source>{label}, for all {alike}</source>
      <translation>{label}, für alle {alike}</translation>
    </message>
    <message>
      <source>{layout} layout: {where}{by}</source>
      <translation>Layout {layout}: {where}{by}</translation>
    </message>
    <message>
      <source>{layout} suits it: {why}</source>
      <translation>{layout} passt dazu: {why}</translation>
    </message>
    <message>
      <source>{lead} Nothing was written.{choices}{rest}</source>
      <translation>{lead} Es wurde nichts geschrieben.{choices}{rest}</translation>
    </message>
    <message>
      <source>{lead} {asked} of them; {alone}.</source>
      <translation>{lead} {asked} davon; {alone}.</translation>
    </message>
    <message>
      <source>{lead}. Your edit is kept; nothing was written.</source>
      <translation>{lead}. Ihre Bearbeitung ist behalten; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{lead}absent</source>
      <translation>{lead}nicht vorhanden</translation>
    </message>
    <message>
      <source>{lock} looks like the lock of another program. How does each write have to change it?</source>
      <translation>{lock} sieht aus wie die Sperre eines anderen Programms. Wie muss ein Schreibvorgang sie ändern?</translation>
    </message>
    <message>
      <source>{marked}Each is one guarded write that first checks what the scan saw; what changed since is skipped. What is removed is saved first; undo it from the journal.</source>
      <translation>{marked}Jede ist ein abgesicherter Schreibvorgang, der zuerst prüft, was der Prüflauf sah; was sich seither änderte, wird übersprungen. Was entfernt wird, wird zuvor gesichert; rückgängig geht es im Journal.</translation>
    </message>
    <message>
      <source>{minutes} min</source>
      <translation>{minutes} min</translation>
    </message>
    <message>
      <source>{moment} lies before the time of an earlier version: a clock was wrong.</source>
      <translation>{moment} liegt vor der Zeit einer früheren Version: eine Uhr ging falsch.</translation>
    </message>
    <message>
      <source>{moment}, {zone}.</source>
      <translation>{moment}, {zone}.</translation>
    </message>
    <message>
      <source>{named} and {named2} are the same</source>
      <translation>{named} und {named2} sind gleich</translation>
    </message>
    <message>
      <source>{named} and {named2} differ in hidden fields only</source>
      <translation>{named} und {named2} unterscheiden sich nur in ausgeblendeten Feldern</translation>
    </message>
    <message>
      <source>{named} in any order</source>
      <translation>{named} in beliebiger Reihenfolge</translation>
    </message>
    <message>
      <source>{names} and {names2} more</source>
      <translation>{names} und {names2} weitere</translation>
    </message>
    <message>
      <source>{names}: {count} of {looked}</source>
      <translation>{names}: {count} von {looked}</translation>
    </message>
    <message>
      <source>{name} and every version of it{upto} are removed from {ns}, unless it changed meanwhile. Nobody finds its history in the database any more; only the journal on this computer keeps it and can put it back.</source>
      <translation>{name} und alle seine Versionen{upto} werden aus {ns} entfernt, sofern es sich inzwischen nicht geändert hat. In der Datenbank findet niemand mehr seinen Verlauf; nur das Journal auf diesem Computer bewahrt ihn auf und kann ihn zurückbringen.</translation>
    </message>
    <message>
      <source>{name} could not be measured. {doubt}</source>
      <translation>{name} konnte nicht gemessen werden. {doubt}</translation>
    </message>
    <message>
      <source>{name} does not answer now, so nothing can be measured.</source>
      <translation>{name} antwortet gerade nicht, daher kann nichts gemessen werden.</translation>
    </message>
    <message>
      <source>{name} does not answer now, so nothing can be read.</source>
      <translation>{name} antwortet gerade nicht, daher kann nichts gelesen werden.</translation>
    </message>
    <message>
      <source>{name} does not answer now, so nothing can be taken back.</source>
      <translation>{name} antwortet gerade nicht, daher kann nichts zurückgenommen werden.</translation>
    </message>
    <message>
      <source>{name} does not answer now, so nothing can be written.</source>
      <translation>{name} antwortet gerade nicht, daher kann nichts geschrieben werden.</translation>
    </message>
    <message>
      <source>{name} had no documents then</source>
      <translation>{name} hatte damals keine Dokumente</translation>
    </message>
    <message>
      <source>{name} has no content to compare ({detail}).</source>
      <translation>{name} hat keinen Inhalt zum Vergleichen ({detail}).</translation>
    </message>
    <message>
      <source>{name} has no documents yet</source>
      <translation>{name} hat noch keine Dokumente</translation>
    </message>
    <message>
      <source>{name} has none of these fields anywhere.</source>
      <translation>{name} hat keines dieser Felder, nirgends.</translation>
    </message>
    <message>
      <source>{name} has what {old} had; nothing needs to be written</source>
      <translation>{name} hat schon den Inhalt von {old}; es muss nichts geschrieben werden</translation>
    </message>
    <message>
      <source>{name} in {model}</source>
      <translation>{name} in {model}</translation>
    </message>
    <message>
      <source>{name} is a whole number of documents, and {line} is none.</source>
      <translation>{name} ist eine ganze Zahl von Dokumenten, und {line} ist keine.</translation>
    </message>
    <message>
      <source>{name} is closed; {kept} kept as a draft</source>
      <translation>{name} ist geschlossen; {kept} als Entwurf behalten</translation>
    </message>
    <message>
      <source>{name} is closed; {kept} kept as drafts</source>
      <translation>{name} ist geschlossen; {kept} als Entwürfe behalten</translation>
    </message>
    <message>
      <source>{name} is connected again</source>
      <translation>{name} ist wieder verbunden</translation>
    </message>
    <message>
      <source>{name} is copied as Extended JSON</source>
      <translation>{name} ist als Extended JSON kopiert</translation>
    </message>
    <message>
      <source>{name} is forgotten, its password too</source>
      <translation>{name} ist vergessen, das Passwort auch</translation>
    </message>
    <message>
      <source>{name} is left out: its id is another document's over there.</source>
      <translation>{name} bleibt weg: Seine Id hat drüben ein anderes Dokument.</translation>
    </message>
    <message>
      <source>{name} is marked as production. </source>
      <translation>{name} ist als Produktion gekennzeichnet. </translation>
    </message>
    <message>
      <source>{name} is not connected: its server does not answer. What is shown is as of {seen}; edits are kept as drafts.</source>
      <translation>{name} ist nicht verbunden: Der Server antwortet nicht. Gezeigt wird der Stand vom {seen}; Bearbeitungen bleiben als Entwürfe.</translation>
    </message>
    <message>
      <source>{name} is not there in {model}</source>
      <translation>{name} gibt es in {model} nicht</translation>
    </message>
    <message>
      <source>{name} is open read-only</source>
      <translation>{name} ist schreibgeschützt geöffnet</translation>
    </message>
    <message>
      <source>{name} is open read-only.</source>
      <translation>{name} ist schreibgeschützt geöffnet.</translation>
    </message>
    <message>
      <source>{name} is open read-only; measuring writes to a scratch database.</source>
      <translation>{name} ist nur zum Lesen geöffnet; die Messung schreibt in eine Wegwerf-Datenbank.</translation>
    </message>
    <message>
      <source>{name} is open read-only; to change documents, allow writes.</source>
      <translation>{name} ist nur zum Lesen geöffnet; um Dokumente zu ändern, erlauben Sie das Schreiben.</translation>
    </message>
    <message>
      <source>{name} is open read-only; to copy documents, allow writes.</source>
      <translation>{name} ist nur zum Lesen geöffnet; um Dokumente zu kopieren, erlauben Sie das Schreiben.</translation>
    </message>
    <message>
      <source>{name} is open read-only; to copy, allow writes.</source>
      <translation>{name} ist schreibgeschützt geöffnet; erlauben Sie zum Kopieren das Schreiben.</translation>
    </message>
    <message>
      <source>{name} is open read-only; to finish or drop tokens, allow writes.</source>
      <translation>{name} ist schreibgeschützt geöffnet; erlauben Sie das Schreiben, um Token abzuschließen oder zu streichen.</translation>
    </message>
    <message>
      <source>{name} is open read-only; to remove versions, allow writes.</source>
      <translation>{name} ist nur zum Lesen geöffnet; um Versionen zu entfernen, bitte Schreiben erlauben.</translation>
    </message>
    <message>
      <source>{name} is open read-only; to repair, allow writes.</source>
      <translation>{name} ist schreibgeschützt geöffnet; erlauben Sie zum Reparieren das Schreiben.</translation>
    </message>
    <message>
      <source>{name} is open read-only; to take changes back, allow writes.</source>
      <translation>{name} ist nur zum Lesen geöffnet; erlauben Sie das Schreiben, um Änderungen zurückzunehmen.</translation>
    </message>
    <message>
      <source>{name} is read-only now</source>
      <translation>{name} ist jetzt schreibgeschützt</translation>
    </message>
    <message>
      <source>{name} is remembered; choose another one, and Compare › Compare with it</source>
      <translation>{name} ist gemerkt; wählen Sie ein anderes, dann Vergleich › Mit dem Gemerkten</translation>
    </message>
    <message>
      <source>{name} is the layout's own field: leave it out, or as it is.</source>
      <translation>{name} gehört dem Layout: lassen Sie das Feld weg, oder wie es ist.</translation>
    </message>
    <message>
      <source>{name} is unsafe to write to, and editing is allowed here all the same. {unsafe}</source>
      <translation>In {name} zu schreiben ist unsicher, und Bearbeiten ist hier trotzdem erlaubt. {unsafe}</translation>
    </message>
    <message>
      <source>{name} is unsafe to write to, so this is refused: {writes}. {unsafe}</source>
      <translation>Auf {name} ist das Schreiben nicht sicher, deshalb wird abgelehnt: {writes}. {unsafe}</translation>
    </message>
    <message>
      <source>{name} keeps writers apart: of two that swap, one wins, and its unique indexes hold</source>
      <translation>{name} hält Schreiber auseinander: Von zweien, die tauschen, gewinnt einer, und seine eindeutigen Indexe halten</translation>
    </message>
    <message>
      <source>{name} or before</source>
      <translation>{name} oder früher</translation>
    </message>
    <message>
      <source>{name} states {ns} already: {changes}.</source>
      <translation>{name} beschreibt {ns} schon: {changes}.</translation>
    </message>
    <message>
      <source>{name} view</source>
      <translation>Ansicht {name}</translation>
    </message>
    <message>
      <source>{name} {state} in the current version; edit the document to bring its value back.</source>
      <translation>{name} {state} in der aktuellen Version; bearbeiten Sie das Dokument, um den Wert zurückzubringen.</translation>
    </message>
    <message>
      <source>{name}, archive of {owner}</source>
      <translation>{name}, Archiv von {owner}</translation>
    </message>
    <message>
      <source>{name}, not connected</source>
      <translation>{name}, nicht verbunden</translation>
    </message>
    <message>
      <source>{name}, {name2}, not there</source>
      <translation>{name}, {name2}, nicht vorhanden</translation>
    </message>
    <message>
      <source>{name}, {name2}, version missing</source>
      <translation>{name}, {name2}, Version fehlt</translation>
    </message>
    <message>
      <source>{name}: {said}</source>
      <translation>{name}: {said}</translation>
    </message>
    <message>
      <source>{name}{which} is deleted from {ns}, unless it changed meanwhile. {kept}</source>
      <translation>{name}{which} wird aus {ns} gelöscht, sofern es sich inzwischen nicht geändert hat. {kept}</translation>
    </message>
    <message>
      <source>{note}. Showing it takes a moment.</source>
      <translation>{note}. Das Anzeigen dauert einen Moment.</translation>
    </message>
    <message>
      <source>{now} in the database</source>
      <translation>{now} in der Datenbank</translation>
    </message>
    <message>
      <source>{now} stays in the history where the layout keeps one. </source>
      <translation>{now} bleibt im Verlauf, wo das Layout einen führt. </translation>
    </message>
    <message>
      <source>{now}, now</source>
      <translation>{now}, jetzt</translation>
    </message>
    <message>
      <source>{now}, {change} in the first of {whole} scans on {at}.</source>
      <translation>{now}, {change} im ersten von {whole} Prüfläufen am {at}.</translation>
    </message>
    <message>
      <source>{now}. Scan again after a fix, and this page shows what it changed.</source>
      <translation>{now}. Prüfen Sie nach einer Behebung erneut, und diese Seite zeigt, was sie geändert hat.</translation>
    </message>
    <message>
      <source>{now}; {turned} in {versions} that can be read</source>
      <translation>{now}; {turned} in {versions:dative}, die lesbar sind</translation>
    </message>
    <message>
      <source>{ns} as it was then, from the versions that were kept; filter and order as usual.</source>
      <translation>{ns}, wie es damals stand, aus den aufbewahrten Versionen; Filter und Reihenfolge wie sonst.</translation>
    </message>
    <message>
      <source>{ns} could not be compared</source>
      <translation>{ns} konnte nicht verglichen werden</translation>
    </message>
    <message>
      <source>{ns} could not be read</source>
      <translation>{ns} konnte nicht gelesen werden</translation>
    </message>
    <message>
      <source>{ns} holds no counters that hand out numbers</source>
      <translation>{ns} enthält keine Zähler, die Nummern ausgeben</translation>
    </message>
    <message>
      <source>{ns} is empty.</source>
      <translation>{ns} ist leer.</translation>
    </message>
    <message>
      <source>{ns} is in {target} too, every version equal</source>
      <translation>{ns} liegt nun auch in {target}, jede Version gleich</translation>
    </message>
    <message>
      <source>{ns} is read as {layout} until it is disconnected; a profile would keep that</source>
      <translation>{ns} wird als {layout} gelesen, bis die Verbindung getrennt wird; ein Profil würde das bewahren</translation>
    </message>
    <message>
      <source>{ns} is recognised as {layout} again</source>
      <translation>{ns} wird wieder als {layout} erkannt</translation>
    </message>
    <message>
      <source>{ns} is stated in {path}{also}</source>
      <translation>{ns} ist in {path} beschrieben{also}</translation>
    </message>
    <message>
      <source>{ns} keeps no apply-once lists</source>
      <translation>{ns} führt keine Listen einmal verarbeiteter Einträge</translation>
    </message>
    <message>
      <source>{ns} keeps no counters that are raised in two steps</source>
      <translation>{ns} führt keine Zähler, die in zwei Schritten erhöht werden</translation>
    </message>
    <message>
      <source>{ns} on {name}</source>
      <translation>{ns} auf {name}</translation>
    </message>
    <message>
      <source>{number:,} of {total:,}</source>
      <translation>{number:,} von {total:,}</translation>
    </message>
    <message>
      <source>{number} new</source>
      <translation>{number} neue</translation>
    </message>
    <message>
      <source>{open_here} {how} open; Esc leads back</source>
      <translation>{open_here} {how} offen; Esc führt zurück</translation>
    </message>
    <message>
      <source>{other} removed it, you changed it</source>
      <translation>{other} hat es entfernt, Sie haben es geändert</translation>
    </message>
    <message>
      <source>{other} removed it, you moved it</source>
      <translation>{other} hat es entfernt, Sie haben es verschoben</translation>
    </message>
    <message>
      <source>{parts} more</source>
      <translation>{parts} weitere</translation>
    </message>
    <message>
      <source>{path} cannot be written; choose another place.</source>
      <translation>{path} kann nicht geschrieben werden; wählen Sie einen anderen Ort.</translation>
    </message>
    <message>
      <source>{path} is gone after later choices.</source>
      <translation>{path} gibt es nach späteren Entscheidungen nicht mehr.</translation>
    </message>
    <message>
      <source>{path}, not decided</source>
      <translation>{path}, nicht entschieden</translation>
    </message>
    <message>
      <source>{person} need a person</source>
      <translation>{person} muss jemand ansehen</translation>
    </message>
    <message>
      <source>{place}: a version stays if any of this keeps it. The current one always stays.</source>
      <translation>{place}: Eine Version bleibt, wenn etwas davon sie behält. Die aktuelle bleibt immer.</translation>
    </message>
    <message>
      <source>{place}: decided; choose again to change your mind.</source>
      <translation>{place}: entschieden; wählen Sie erneut, um es zu ändern.</translation>
    </message>
    <message>
      <source>{place}: only {how} changed it{hint}.</source>
      <translation>{place}: nur geändert von: {how}{hint}.</translation>
    </message>
    <message>
      <source>{place}: you and {other} changed it in different ways{hint}.</source>
      <translation>{place}: Sie und {other} haben es verschieden geändert{hint}.</translation>
    </message>
    <message>
      <source>{place}: you and {other} changed it, and both changes fit together{hint}.</source>
      <translation>{place}: Sie und {other} haben es geändert, und beide Änderungen passen zusammen{hint}.</translation>
    </message>
    <message>
      <source>{qVersion}, PySide6 {version}, {platformName}</source>
      <translation>{qVersion}, PySide6 {version}, {platformName}</translation>
    </message>
    <message>
      <source>{question}  Answered: {said}.</source>
      <translation>{question}  Beantwortet: {said}.</translation>
    </message>
    <message>
      <source>{raw} as stored</source>
      <translation>{raw} wie gespeichert</translation>
    </message>
    <message>
      <source>{raw} that do not decode</source>
      <translation>{raw}, die sich nicht dekodieren lassen</translation>
    </message>
    <message>
      <source>{running} tasks running</source>
      <translation>{running} Aufgaben laufen</translation>
    </message>
    <message>
      <source>{said}
… {whole} more; Copy gives everything</source>
      <translation>{said}
… {whole} weitere; Kopieren liefert alles</translation>
    </message>
    <message>
      <source>{said} fewer</source>
      <translation>{said} weniger</translation>
    </message>
    <message>
      <source>{said} in one scan</source>
      <translation>{said} in einem Prüflauf</translation>
    </message>
    <message>
      <source>{said} in the last {shown} scans, oldest first</source>
      <translation>{said} in den letzten {shown} Prüfläufen, ältester zuerst</translation>
    </message>
    <message>
      <source>{said} so far.</source>
      <translation>{said} bisher.</translation>
    </message>
    <message>
      <source>{said}, about {after} left</source>
      <translation>{said}, noch etwa {after}</translation>
    </message>
    <message>
      <source>{said}, chosen</source>
      <translation>{said}, gewählt</translation>
    </message>
    <message>
      <source>{said}, {pairs} more</source>
      <translation>{said}, {pairs} weitere</translation>
    </message>
    <message>
      <source>{said}, {writes} not. {left}</source>
      <translation>{said}, {writes} nicht. {left}</translation>
    </message>
    <message>
      <source>{said}. Nothing has been written.</source>
      <translation>{said}. Es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{said}. Run it again to continue where it stopped.</source>
      <translation>{said}. Noch einmal gestartet, geht es dort weiter, wo es endete.</translation>
    </message>
    <message>
      <source>{said}. The old collection stays as it is.</source>
      <translation>{said}. Die alte Sammlung bleibt, wie sie ist.</translation>
    </message>
    <message>
      <source>{said}: other times</source>
      <translation>{said}: andere Zeiten</translation>
    </message>
    <message>
      <source>{said}; paused at {moment}</source>
      <translation>{said}; angehalten um {moment}</translation>
    </message>
    <message>
      <source>{said}; see the list, show them again</source>
      <translation>{said}; Liste ansehen, wieder zeigen</translation>
    </message>
    <message>
      <source>{said}; {folded} that {verbs} in every version {verbs2} folded away.</source>
      <translation>{said}; {folded}, die sich in jeder Version {verbs}, {verbs2} eingeklappt.</translation>
    </message>
    <message>
      <source>{said}; {how} went to {source}.</source>
      <translation>{said}; Ziel war {source}.</translation>
    </message>
    <message>
      <source>{said}; {names} never landed and is left out</source>
      <translation>{said}; {names} kam nie an und ist weggelassen</translation>
    </message>
    <message>
      <source>{said}; {number} a second</source>
      <translation>{said}; {number} je Sekunde</translation>
    </message>
    <message>
      <source>{said}; {rows} shown</source>
      <translation>{said}; {rows} gezeigt</translation>
    </message>
    <message>
      <source>{said}; {seconds} s behind the writers</source>
      <translation>{said}; {seconds} s hinter den Schreibenden</translation>
    </message>
    <message>
      <source>{same} documents are the same.</source>
      <translation>{same} Dokumente sind gleich.</translation>
    </message>
    <message>
      <source>{same} the same</source>
      <translation>{same} gleich</translation>
    </message>
    <message>
      <source>{saying}, which brings {name} back; {now} stays in the history.</source>
      <translation>{saying}, womit {name} zurückkehrt; {now} bleibt im Verlauf.</translation>
    </message>
    <message>
      <source>{saying}; {now} stays in the history.</source>
      <translation>{saying}; {now} bleibt im Verlauf.</translation>
    </message>
    <message>
      <source>{seconds:.0f} min</source>
      <translation>{seconds:.0f} min</translation>
    </message>
    <message>
      <source>{seconds} s</source>
      <translation>{seconds} s</translation>
    </message>
    <message>
      <source>{several} picked</source>
      <translation>{several} gewählt</translation>
    </message>
    <message>
      <source>{shown} and {more} more</source>
      <translation>{shown} und {more} weitere</translation>
    </message>
    <message>
      <source>{shown} names a user; type the password.</source>
      <translation>{shown} nennt einen Benutzer; geben Sie das Passwort ein.</translation>
    </message>
    <message>
      <source>{size} a page</source>
      <translation>{size} je Seite</translation>
    </message>
    <message>
      <source>{size} would be won</source>
      <translation>{size} würden frei</translation>
    </message>
    <message>
      <source>{some} be proven.</source>
      <translation>{some} zu belegen.</translation>
    </message>
    <message>
      <source>{some} be proven. {each}.</source>
      <translation>{some} zu belegen. {each}.</translation>
    </message>
    <message>
      <source>{source}
Open it to connect</source>
      <translation>{source}
Zum Verbinden öffnen</translation>
    </message>
    <message>
      <source>{source} is being measured now.</source>
      <translation>{source} wird gerade gemessen.</translation>
    </message>
    <message>
      <source>{source} was measured on {at}; found: {promises} broken.</source>
      <translation>{source} wurde am {at} gemessen; gefunden: {promises} gebrochen.</translation>
    </message>
    <message>
      <source>{source} was measured on {at}; nothing unsafe was found.</source>
      <translation>{source} wurde am {at} gemessen; nichts Unsicheres wurde gefunden.</translation>
    </message>
    <message>
      <source>{source} was not measured to the end this time.</source>
      <translation>{source} wurde diesmal nicht zu Ende gemessen.</translation>
    </message>
    <message>
      <source>{source} was not measured yet.</source>
      <translation>{source} wurde noch nicht gemessen.</translation>
    </message>
    <message>
      <source>{span} of N/A</source>
      <translation>{span} von unbekannt</translation>
    </message>
    <message>
      <source>{span} of {of}</source>
      <translation>{span} von {of:dative}</translation>
    </message>
    <message>
      <source>{stored} as stored, {own} of it the content</source>
      <translation>{stored} wie gespeichert, davon {own} Inhalt</translation>
    </message>
    <message>
      <source>{summary}; could not be read again</source>
      <translation>{summary}; konnte nicht noch einmal gelesen werden</translation>
    </message>
    <message>
      <source>{summary}; reading was stopped</source>
      <translation>{summary}; das Lesen wurde angehalten</translation>
    </message>
    <message>
      <source>{summary}; watched conditions are not known</source>
      <translation>{summary}; überwachte Bedingungen sind nicht bekannt</translation>
    </message>
    <message>
      <source>{target} cannot be removed ({strerror}).</source>
      <translation>{target} kann nicht entfernt werden ({strerror}).</translation>
    </message>
    <message>
      <source>{target} cannot be written ({strerror}); allow writing there.</source>
      <translation>{target} kann nicht geschrieben werden ({strerror}); erlauben Sie dort das Schreiben.</translation>
    </message>
    <message>
      <source>{text} became {text2}</source>
      <translation>{text} wurde zu {text2}</translation>
    </message>
    <message>
      <source>{text}, not possible now: {why}</source>
      <translation>{text}, jetzt nicht möglich: {why}</translation>
    </message>
    <message>
      <source>{there}The filter asks for {asked} {where}.</source>
      <translation>{there}Der Filter verlangt {asked} {where}.</translation>
    </message>
    <message>
      <source>{ticked} of {documents} ticked</source>
      <translation>{ticked} von {documents:dative} angekreuzt</translation>
    </message>
    <message>
      <source>{ticked} of {fields} ticked</source>
      <translation>{ticked} von {fields:dative} angekreuzt</translation>
    </message>
    <message>
      <source>{ticked} of {findings} ticked</source>
      <translation>{ticked} von {findings:dative} angekreuzt</translation>
    </message>
    <message>
      <source>{ticked} of {tokens} ticked</source>
      <translation>{ticked} von {tokens:dative} angekreuzt</translation>
    </message>
    <message>
      <source>{time} left</source>
      <translation>noch {time}</translation>
    </message>
    <message>
      <source>{tip}, not saved yet</source>
      <translation>{tip}, noch nicht gespeichert</translation>
    </message>
    <message>
      <source>{title} did not come to its end</source>
      <translation>Nicht zu Ende gekommen: {title}</translation>
    </message>
    <message>
      <source>{title} – Palimpsest</source>
      <translation>{title} – Palimpsest</translation>
    </message>
    <message>
      <source>{title}, not saved yet</source>
      <translation>{title}, noch nicht gespeichert</translation>
    </message>
    <message>
      <source>{tokens} of {documents}.{inside}</source>
      <translation>{tokens} von {documents:dative}.{inside}</translation>
    </message>
    <message>
      <source>{tokens} pending again.</source>
      <translation>{tokens} wieder offen.</translation>
    </message>
    <message>
      <source>{tokens} {how} pending, and none of them passes the filters above. Change them, or show all tokens.</source>
      <translation>{tokens} {how} offen, und keines davon passt zu den Filtern oben. Ändern Sie diese, oder zeigen Sie alle Token.</translation>
    </message>
    <message>
      <source>{troubles} cannot be as stated.</source>
      <translation>{troubles} kann nicht so sein wie angegeben.</translation>
    </message>
    <message>
      <source>{unchecked} not checked</source>
      <translation>{unchecked} nicht geprüft</translation>
    </message>
    <message>
      <source>{unsafe} An edit of yours, or of somebody else, can be lost without a word: on this server the guard of a write does not protect it.</source>
      <translation>{unsafe} Eine Bearbeitung von Ihnen oder jemand anderem kann ohne ein Wort verloren gehen: Auf diesem Server schützt die Absicherung eines Schreibvorgangs sie nicht.</translation>
    </message>
    <message>
      <source>{upper} is the current version, which the draft begins from.</source>
      <translation>{upper} ist die aktuelle Version, von der der Entwurf ausgeht.</translation>
    </message>
    <message>
      <source>{verbs} {count}</source>
      <translation>{verbs}: {count}</translation>
    </message>
    <message>
      <source>{verbs} {count}?</source>
      <translation>{verbs}: {count}?</translation>
    </message>
    <message>
      <source>{verbs}ing {done} of {total}</source>
      <translation>{verbs}: {done} von {total}</translation>
    </message>
    <message>
      <source>{verbs}ing {tokens}</source>
      <translation>{verbs}: {tokens}</translation>
    </message>
    <message>
      <source>{verb} {count}</source>
      <translation>{verb}: {count}</translation>
    </message>
    <message>
      <source>{verdicts} changed since the scan</source>
      <translation>{verdicts} seit dem Prüflauf geändert</translation>
    </message>
    <message>
      <source>{verdicts} wait for an answer</source>
      <translation>{verdicts} warten auf eine Antwort</translation>
    </message>
    <message>
      <source>{verdicts} would be refused</source>
      <translation>{verdicts} würden abgelehnt</translation>
    </message>
    <message>
      <source>{verdicts} would be {done}</source>
      <translation>{verdicts} würden {done}</translation>
    </message>
    <message>
      <source>{versions} of {documents} are equal in both places</source>
      <translation>{versions} von {documents:dative} sind an beiden Stellen gleich</translation>
    </message>
    <message>
      <source>{versions} of {documents} written to {path}</source>
      <translation>{versions} von {documents:dative} nach {path} geschrieben</translation>
    </message>
    <message>
      <source>{versions} since {moment}</source>
      <translation>{versions} seit {moment}</translation>
    </message>
    <message>
      <source>{version} now</source>
      <translation>{version} jetzt</translation>
    </message>
    <message>
      <source>{version} of {id}</source>
      <translation>{version} von {id}</translation>
    </message>
    <message>
      <source>{waiting} unresolved</source>
      <translation>{waiting} ungelöst</translation>
    </message>
    <message>
      <source>{what} Git, folder and JSON lines can be imported again, byte for byte.</source>
      <translation>{what} Git, Ordner und JSON-Zeilen lassen sich Byte für Byte wieder importieren.</translation>
    </message>
    <message>
      <source>{what} The journal can put it back.</source>
      <translation>{what} Das Journal kann sie zurückholen.</translation>
    </message>
    <message>
      <source>{what} is in {path}</source>
      <translation>{what} liegt in {path}</translation>
    </message>
    <message>
      <source>{what} – Palimpsest</source>
      <translation>{what} – Palimpsest</translation>
    </message>
    <message>
      <source>{which} another order of fields than the table</source>
      <translation>{which} eine andere Feldreihenfolge als die Tabelle</translation>
    </message>
    <message>
      <source>{which} left out, as this form cannot hold them or they are gone</source>
      <translation>{which} ausgelassen, da diese Form sie nicht fasst oder es sie nicht mehr gibt</translation>
    </message>
    <message>
      <source>{which} with =, +, - or @, which spreadsheets take for formulas</source>
      <translation>{which} mit =, +, - oder @, was Tabellenprogramme für Formeln halten</translation>
    </message>
    <message>
      <source>{who} inside the grace period: a writer that is still at work {then}.</source>
      <translation>{who} in der Schonfrist: Ein Schreiber, der noch arbeitet, {then}.</translation>
    </message>
    <message>
      <source>{words} in {ns} of {name}</source>
      <translation>{words} in {ns} von {name}</translation>
    </message>
    <message>
      <source>{words} of {name}</source>
      <translation>{words} von {name}</translation>
    </message>
    <message>
      <source>{words} somewhere in {since}–{v}</source>
      <translation>{words} irgendwo in {since}–{v}</translation>
    </message>
    <message>
      <source>{words}, {total} kept, {missing} missing</source>
      <translation>{words}, {total} vorhanden, {missing} fehlen</translation>
    </message>
    <message>
      <source>{words}. A stopped scan did not see everything, so it is not compared.</source>
      <translation>{words}. Ein angehaltener Prüflauf hat nicht alles gesehen und wird daher nicht verglichen.</translation>
    </message>
    <message>
      <source>{word}, one of {offered} words</source>
      <translation>{word}, eines von {offered} Wörtern</translation>
    </message>
    <message>
      <source>{writes} from before {how} no known outcome</source>
      <translation>{writes} von früher {how} keinen bekannten Ausgang</translation>
    </message>
    <message>
      <source>{writes} of {run} taken back</source>
      <translation>{writes} von {run} zurückgenommen</translation>
    </message>
    <message>
      <source>{writes} taken back</source>
      <translation>{writes} zurückgenommen</translation>
    </message>
    <message>
      <source>{young} left out, too young</source>
      <translation>{young} ausgelassen, zu jung</translation>
    </message>
    <message>
      <source>{young} of them are</source>
      <translation>{young} davon sind</translation>
    </message>
    <message>
      <source>{{ {n:,} fields }}</source>
      <translation>{{ {n:,} Felder }}</translation>
    </message>
    <message>
      <source>{} Extended JSON</source>
      <translation>Extended JSON: {}</translation>
    </message>
    <message>
      <source>{} of the connection</source>
      <translation>{} der Verbindung</translation>
    </message>
    <message>
      <source>{}: the pace of the scan</source>
      <translation>{}: das Tempo des Prüflaufs</translation>
    </message>
    <message>
      <source>“Since” is later than “until”; swap them.</source>
      <translation>„Seit“ ist später als „Bis“; tauschen Sie die beiden.</translation>
    </message>
    <message>
      <source>“{watch}” began to hold between {before} and {v}, not proven</source>
      <translation>„{watch}“ gilt seit einer Version zwischen {before} und {v}, nicht bewiesen</translation>
    </message>
    <message>
      <source>“{watch}” ceased to hold between {before} and {v}, not proven</source>
      <translation>„{watch}“ gilt seit einer Version zwischen {before} und {v} nicht mehr, nicht bewiesen</translation>
    </message>
    <message>
      <source>“{watch}” holds from here on</source>
      <translation>„{watch}“ gilt ab hier</translation>
    </message>
    <message>
      <source>“{watch}” no longer holds from here on</source>
      <translation>„{watch}“ gilt ab hier nicht mehr</translation>
    </message>
    <message>
      <source>… {here:,} more ]</source>
      <translation>… {here:,} weitere ]</translation>
    </message>
    <message>
      <source>… {words:,} more</source>
      <translation>… {words:,} weitere</translation>
    </message>
  </context>
  <context>
    <name>model</name>
    <message>
      <source>    ~ at byte {0}: {1} -&gt; {2}</source>
      <translation>    ~ bei Byte {0}: {1} -&gt; {2}</translation>
    </message>
    <message>
      <source> $set adds new fields in an order of its own.</source>
      <translation> $set fügt neue Felder in eigener Reihenfolge an.</translation>
    </message>
    <message>
      <source> (in {0} of these a number is in several rows)</source>
      <translation> (in {0} davon steht eine Nummer in mehreren Zeilen)</translation>
    </message>
    <message>
      <source> (not in {0}, for one)</source>
      <translation> (nicht in {0}, zum Beispiel)</translation>
    </message>
    <message>
      <source> A number that the mark leaves out is not a gap: nobody used it.</source>
      <translation> Eine Nummer, die die Markierung auslässt, ist keine Lücke: Niemand hat sie benutzt.</translation>
    </message>
    <message>
      <source> Here they are not marked: a gap is told as either, and no repair is offered for it.</source>
      <translation> Hier werden sie nicht markiert: Eine Lücke gilt als beides, und es wird keine Reparatur dafür angeboten.</translation>
    </message>
    <message>
      <source> Index missing: {0}.</source>
      <translation> Fehlender Index: {0}.</translation>
    </message>
    <message>
      <source> Merge the undo with it, or restore the earlier version or some of its fields.</source>
      <translation> Führen Sie die Rücknahme damit zusammen oder stellen Sie die frühere Version oder einige ihrer Felder wieder her.</translation>
    </message>
    <message>
      <source> No answer: {0}.</source>
      <translation> Keine Antwort: {0}.</translation>
    </message>
    <message>
      <source> Nothing keeps two writers apart without a token to mark versions by, so edits are refused.</source>
      <translation> Ohne ein Token, um Versionen zu markieren, hält nichts zwei Schreiber auseinander, daher werden Bearbeitungen abgelehnt.</translation>
    </message>
    <message>
      <source> State its fields in a profile.</source>
      <translation> Geben Sie die Felder in einem Profil an.</translation>
    </message>
    <message>
      <source> The server stored the fields in another order than they were sent in.</source>
      <translation> Der Server hat die Felder in anderer Reihenfolge gespeichert als gesendet.</translation>
    </message>
    <message>
      <source> The version that is followed is marked with the number of the next one ({claim}), which keeps writers apart.</source>
      <translation> Die Version davor wird mit der Nummer der nächsten markiert ({claim}); das hält Schreiber auseinander.</translation>
    </message>
    <message>
      <source> This server cannot tell 1.0 from 1.00, or 0.0 from -0.0, in {0}.</source>
      <translation> Dieser Server kann in {0} 1.0 nicht von 1.00 und 0.0 nicht von -0.0 unterscheiden.</translation>
    </message>
    <message>
      <source> What else was written is undone with palimpsest undo {0}.</source>
      <translation> Was sonst geschrieben wurde, macht palimpsest undo {0} rückgängig.</translation>
    </message>
    <message>
      <source> What it rests on could not be read again; run the plan again.</source>
      <translation> Worauf es beruht, ließ sich nicht erneut lesen; führen Sie den Plan erneut aus.</translation>
    </message>
    <message>
      <source> and has a unique index on {0} and {1}</source>
      <translation> und hat einen eindeutigen Index auf {0} und {1}</translation>
    </message>
    <message>
      <source> and others</source>
      <translation> und andere</translation>
    </message>
    <message>
      <source> and stay in {0} once they are counted</source>
      <translation> und bleiben in {0}, sobald sie gezählt sind</translation>
    </message>
    <message>
      <source> and the content is as it was read</source>
      <translation> und der Inhalt ist wie gelesen</translation>
    </message>
    <message>
      <source> and writes {0}</source>
      <translation> und schreibt {0}</translation>
    </message>
    <message>
      <source> and {0} is unchanged</source>
      <translation> und {0} unverändert</translation>
    </message>
    <message>
      <source> and {0} more</source>
      <translation> und {0} weitere</translation>
    </message>
    <message>
      <source> and {0} more ({1})</source>
      <translation> und {0} weitere ({1})</translation>
    </message>
    <message>
      <source> and {0} {1} damaged</source>
      <translation> und {0} sind beschädigt</translation>
    </message>
    <message>
      <source> and {0}.{1} is unchanged</source>
      <translation> und {0}.{1} unverändert</translation>
    </message>
    <message>
      <source> before the old one loses {0}</source>
      <translation> schon vor dem Entfernen von {0} aus der alten</translation>
    </message>
    <message>
      <source> by {0}</source>
      <translation> über {0}</translation>
    </message>
    <message>
      <source> in line {0}: {1}</source>
      <translation> in Zeile {0}: {1}</translation>
    </message>
    <message>
      <source> is now </source>
      <translation> ist jetzt </translation>
    </message>
    <message>
      <source> of {0} UTC</source>
      <translation> vom {0} UTC</translation>
    </message>
    <message>
      <source> since {0} UTC</source>
      <translation> seit {0} UTC</translation>
    </message>
    <message>
      <source> {0} of the documents sampled {1} not decode.</source>
      <translation> {0} der Dokumente in der Stichprobe lassen sich nicht lesen.</translation>
    </message>
    <message>
      <source> {0} of {1} writes were done; carry the plan out again.</source>
      <translation> {0} von {1} Schreibvorgängen wurden ausgeführt; führen Sie den Plan noch einmal aus.</translation>
    </message>
    <message>
      <source> {0} versions were removed before; run it again.</source>
      <translation> {0} Versionen wurden vorher entfernt; führen Sie es noch einmal aus.</translation>
    </message>
    <message>
      <source> {0} {1} then sorted in memory.</source>
      <translation> {0}: danach im Speicher sortiert.</translation>
    </message>
    <message>
      <source>"at" is a value of type {0}, not a date</source>
      <translation>"at" ist ein Wert vom Typ {0} und kein Datum</translation>
    </message>
    <message>
      <source>"content" is a value of type {0}, not a document</source>
      <translation>"content" ist ein Wert vom Typ {0} und kein Dokument</translation>
    </message>
    <message>
      <source>"copy" is true or false</source>
      <translation>„copy“ ist true oder false</translation>
    </message>
    <message>
      <source>$date takes {0} or {"$date": {"$numberLong": "milliseconds"}}.</source>
      <translation>$date nimmt {0} oder {"$date": {"$numberLong": "Millisekunden"}}.</translation>
    </message>
    <message>
      <source>$numberDecimal takes a number of at most 34 digits with a point, Infinity or NaN.</source>
      <translation>$numberDecimal nimmt eine Zahl mit höchstens 34 Ziffern und einem Punkt, Infinity oder NaN.</translation>
    </message>
    <message>
      <source>$numberDouble takes a number, Infinity, -Infinity or NaN, in the range of a double.</source>
      <translation>$numberDouble nimmt eine Zahl, Infinity, -Infinity oder NaN, im Bereich eines Double.</translation>
    </message>
    <message>
      <source>$raw takes a BSON type and bytes, both as hexadecimal digits: {0}.</source>
      <translation>$raw nimmt einen BSON-Typ und Bytes, beide als hexadezimale Ziffern: {0}.</translation>
    </message>
    <message>
      <source>$rename names what {0} is called then, as in {{1}: 'name'}.</source>
      <translation>$rename nennt, wie {0} dann heißt, etwa {{1}: 'name'}.</translation>
    </message>
    <message>
      <source>(This is correct, but not the smallest difference: finding that would take too long.)</source>
      <translation>(Das ist richtig, aber nicht das Kürzeste: Das hätte zu lange gedauert.)</translation>
    </message>
    <message>
      <source>, and {0} may still be on the way</source>
      <translation>, und {0} sind vielleicht noch unterwegs</translation>
    </message>
    <message>
      <source>, and {0} more like it</source>
      <translation>, und {0} weitere solche</translation>
    </message>
    <message>
      <source>, and {0} younger</source>
      <translation>, und {0} jünger</translation>
    </message>
    <message>
      <source>, beside {0}</source>
      <translation>, neben {0}</translation>
    </message>
    <message>
      <source>, by polling</source>
      <translation>, durch Nachfragen</translation>
    </message>
    <message>
      <source>, from byte {0} on</source>
      <translation>, ab Byte {0}</translation>
    </message>
    <message>
      <source>, in UTF-8</source>
      <translation>, in UTF-8</translation>
    </message>
    <message>
      <source>, in a collection called {0}</source>
      <translation>, in einer Sammlung namens {0}</translation>
    </message>
    <message>
      <source>, names at the top sorted</source>
      <translation>, Namen auf der obersten Ebene sortiert</translation>
    </message>
    <message>
      <source>, names sorted</source>
      <translation>, Namen sortiert</translation>
    </message>
    <message>
      <source>, of which only {0}</source>
      <translation>, davon nur {0}</translation>
    </message>
    <message>
      <source>, or by another recipe that gives the same for what is there</source>
      <translation>, oder nach einem anderen Rezept, das für das Vorhandene dasselbe ergibt</translation>
    </message>
    <message>
      <source>, stored as Binary</source>
      <translation>, gespeichert als Binary</translation>
    </message>
    <message>
      <source>, stored in Base64</source>
      <translation>, gespeichert in Base64</translation>
    </message>
    <message>
      <source>, stored in capital hex</source>
      <translation>, gespeichert hexadezimal in Großbuchstaben</translation>
    </message>
    <message>
      <source>, the archive ends at {0}</source>
      <translation>, das Archiv endet bei {0}</translation>
    </message>
    <message>
      <source>, without spaces</source>
      <translation>, ohne Leerzeichen</translation>
    </message>
    <message>
      <source>, without {0}</source>
      <translation>, ohne {0}</translation>
    </message>
    <message>
      <source>, without {0} repeated</source>
      <translation>, ohne {0} Wiederholungen</translation>
    </message>
    <message>
      <source>, written by {0}</source>
      <translation>, geschrieben von {0}</translation>
    </message>
    <message>
      <source>1 place</source>
      <translation>1 Stelle</translation>
    </message>
    <message>
      <source>1 version missing</source>
      <translation>1 Version fehlt</translation>
    </message>
    <message>
      <source>1 write would be sent.</source>
      <translation>1 Schreibvorgang würde gesendet.</translation>
    </message>
    <message>
      <source>1 write.</source>
      <translation>1 Schreibvorgang.</translation>
    </message>
    <message>
      <source>1.0 from 1.00 and 0.0 from -0.0</source>
      <translation>1.0 von 1.00 und 0.0 von -0.0</translation>
    </message>
    <message>
      <source>; how the others got theirs is not proven, so nothing is written here until a profile states hash_recipe</source>
      <translation>; wie die anderen zu ihrem kamen, ist nicht bewiesen, daher wird hier nichts geschrieben, bis ein Profil hash_recipe angibt</translation>
    </message>
    <message>
      <source>; no recipe known gives it, so nothing is written here until a profile states hash_recipe</source>
      <translation>; kein bekanntes Rezept ergibt ihn, daher wird hier nichts geschrieben, bis ein Profil hash_recipe angibt</translation>
    </message>
    <message>
      <source>; the certificate is trusted until {0}</source>
      <translation>; dem Zertifikat wird bis {0} vertraut</translation>
    </message>
    <message>
      <source>; they leave out {0}</source>
      <translation>; sie lassen {0} weg</translation>
    </message>
    <message>
      <source>; what it changed ({0}{1}) is then shown as a change of {2}</source>
      <translation>; was sie änderte ({0}{1}), erscheint dann als Änderung von {2}</translation>
    </message>
    <message>
      <source>; {0} is the number beside them</source>
      <translation>; {0} ist die Zahl daneben</translation>
    </message>
    <message>
      <source>; {0} is then the first, and what it changed is not known any more</source>
      <translation>; {0} ist dann die erste, und was sie änderte, ist nicht mehr bekannt</translation>
    </message>
    <message>
      <source>; {0}, the oldest one left, is stored whole first</source>
      <translation>; {0}, die älteste, die bleibt, wird zuvor vollständig gespeichert</translation>
    </message>
    <message>
      <source>A DeepDiff Delta cannot say this difference exactly; take another format, such as json-patch.</source>
      <translation>Ein Delta von DeepDiff kann diesen Unterschied nicht genau ausdrücken; nehmen Sie ein anderes Format, etwa json-patch.</translation>
    </message>
    <message>
      <source>A UUID is written {0}.</source>
      <translation>Eine UUID schreibt sich {0}.</translation>
    </message>
    <message>
      <source>A bucket has its columns under data.</source>
      <translation>Ein Bucket hat seine Spalten unter data.</translation>
    </message>
    <message>
      <source>A certificate file cannot be used; check tlsCAFile and tlsCertificateKeyFile in the address.</source>
      <translation>Eine Zertifikatsdatei kann nicht verwendet werden; prüfen Sie tlsCAFile und tlsCertificateKeyFile in der Adresse.</translation>
    </message>
    <message>
      <source>A change names a field, as in premium.gross or riders[2].</source>
      <translation>Eine Änderung nennt ein Feld, wie in premium.gross oder riders[2].</translation>
    </message>
    <message>
      <source>A change stream reported an insert.</source>
      <translation>Ein Einfügen wurde über einen Change Stream gemeldet.</translation>
    </message>
    <message>
      <source>A cleanup that does not look at both counts it twice.</source>
      <translation>Ein Aufräumen, das nicht beide ansieht, zählt es doppelt.</translation>
    </message>
    <message>
      <source>A column is neither a document nor compressed.</source>
      <translation>Eine Spalte ist weder ein Dokument noch komprimiert.</translation>
    </message>
    <message>
      <source>A delete keeps all versions and inserts one that says so, and the profile has no marker for that in {0}; name one (deleted), or purge the document.</source>
      <translation>Ein Löschen behält alle Versionen und fügt eine ein, die es besagt; dafür hat das Profil in {0} kein Kennzeichen; nennen Sie eines (deleted), oder löschen Sie das Dokument endgültig.</translation>
    </message>
    <message>
      <source>A delete that was in doubt may still arrive; look again in two minutes whether all of them are there.</source>
      <translation>Ein Löschen mit unklarem Ausgang kann noch ankommen; sehen Sie in zwei Minuten nach, ob alle da sind.</translation>
    </message>
    <message>
      <source>A delta cannot say that fields have moved: later versions only replace in place or add at the end.</source>
      <translation>Ein Delta kann nicht sagen, dass Felder verschoben sind: Spätere Versionen ersetzen nur an Ort und Stelle oder fügen am Ende an.</translation>
    </message>
    <message>
      <source>A delta cannot say that {0} is removed, as this collection has no field for removed paths; name one in a profile (removed), or set the field to null.</source>
      <translation>Ein Delta kann nicht sagen, dass {0} entfernt ist, da diese Sammlung kein Feld für entfernte Pfade hat; nennen Sie eines in einem Profil (removed), oder setzen Sie das Feld auf null.</translation>
    </message>
    <message>
      <source>A delta is missing, so the states after it cannot be rebuilt for certain.</source>
      <translation>Ein Delta fehlt, die Stände danach lassen sich nicht sicher nachbilden.</translation>
    </message>
    <message>
      <source>A delta with {0} {1} would say whether the document is deleted; name the marker otherwise in a profile (deleted), or leave the field as it is.</source>
      <translation>Ein Delta mit {0} {1} würde sagen, ob das Dokument gelöscht ist; nennen Sie das Kennzeichen in einem Profil anders (deleted), oder lassen Sie das Feld, wie es ist.</translation>
    </message>
    <message>
      <source>A document that a pipeline writes whole, with its _id, comes back with two fields _id.</source>
      <translation>Ein Dokument, das eine Pipeline samt _id ganz schreibt, kommt mit zwei Feldern _id zurück.</translation>
    </message>
    <message>
      <source>A document with this id is already there.</source>
      <translation>Ein Dokument mit dieser Id ist schon da.</translation>
    </message>
    <message>
      <source>A history of {0} is imported here.</source>
      <translation>Ein Verlauf von {0} wird hierher importiert.</translation>
    </message>
    <message>
      <source>A large dump needs room for notes ({0}); make room for temporary files, or set TMPDIR to a folder that has it.</source>
      <translation>Ein großer Dump braucht Platz für Notizen ({0}); schaffen Sie Platz für temporäre Dateien, oder setzen Sie TMPDIR auf einen Ordner, der ihn hat.</translation>
    </message>
    <message>
      <source>A lost answer is settled by the write token; where a collection may have none, the outcome is unknown.</source>
      <translation>Eine verlorene Antwort klärt das Schreib-Token; wo eine Sammlung keines haben darf, ist der Ausgang unbekannt.</translation>
    </message>
    <message>
      <source>A new document has no base, only fields to set; say which.</source>
      <translation>Ein Dokument, das angelegt werden soll, hat keine Grundlage und besteht aus Feldern, die zu setzen sind; sagen Sie, aus welchen.</translation>
    </message>
    <message>
      <source>A number that was handed out is not taken back: somebody may use it already.</source>
      <translation>Eine ausgegebene Nummer wird nicht zurückgenommen: Vielleicht benutzt sie schon jemand.</translation>
    </message>
    <message>
      <source>A person said to leave it as it is</source>
      <translation>Jemand sagte, es so zu lassen</translation>
    </message>
    <message>
      <source>A regular expression cannot hold a NUL character; remove it.</source>
      <translation>Ein regulärer Ausdruck kann kein NUL-Zeichen enthalten; entfernen Sie es.</translation>
    </message>
    <message>
      <source>A repair is undone as a whole, or not at all; edit the document instead.</source>
      <translation>Eine Reparatur wird ganz oder gar nicht rückgängig gemacht; bearbeiten Sie stattdessen das Dokument.</translation>
    </message>
    <message>
      <source>A row cannot be made with ${0} here; check the template in the profile.</source>
      <translation>Eine Zeile lässt sich hier mit ${0} nicht bilden; prüfen Sie die Vorlage im Profil.</translation>
    </message>
    <message>
      <source>A row made by the profile would not be found as one of this document, in {0}; check its row.</source>
      <translation>Eine nach dem Profil gebildete Zeile fände sich in {0} nicht als eine dieses Dokuments; prüfen Sie row darin.</translation>
    </message>
    <message>
      <source>A row made by the profile would not be read as what it is about, in {0}; check its row.</source>
      <translation>Eine nach dem Profil gebildete Zeile würde in {0} nicht als das gelesen, wovon sie handelt; prüfen Sie row darin.</translation>
    </message>
    <message>
      <source>A scan of today does not find this; scan again.</source>
      <translation>Eine heutige Prüfung findet das nicht; prüfen Sie erneut.</translation>
    </message>
    <message>
      <source>A stored document has no _id, so no write can name it.</source>
      <translation>Ein gespeichertes Dokument hat keine _id, daher kann kein Schreibvorgang es nennen.</translation>
    </message>
    <message>
      <source>A stored document that belongs to {0}</source>
      <translation>Ein gespeichertes Dokument, das zu {0} gehört</translation>
    </message>
    <message>
      <source>A time series: its measurements are not versions of one another.</source>
      <translation>Eine Zeitreihe: Ihre Messungen sind keine Versionen voneinander.</translation>
    </message>
    <message>
      <source>A token is in both lists: it was counted and not removed.</source>
      <translation>Ein Token steht in beiden Listen: Es wurde gezählt und nicht herausgenommen.</translation>
    </message>
    <message>
      <source>A unique index on {0} and {1} would suit a document for every version, but documents with the same {2} look like parts of one thing.</source>
      <translation>Ein eindeutiger Index auf {0} und {1} würde zu einem Dokument je Version passen, aber Dokumente mit gleichem {2} sehen wie Teile einer Sache aus.</translation>
    </message>
    <message>
      <source>A unique index{0} holds this value already; choose another one.</source>
      <translation>Ein eindeutiger Index{0} enthält diesen Wert schon; wählen Sie einen anderen.</translation>
    </message>
    <message>
      <source>A value is too long for an index of this collection; shorten it or drop the index.</source>
      <translation>Ein Wert ist zu lang für einen Index dieser Sammlung; kürzen Sie ihn oder löschen Sie den Index.</translation>
    </message>
    <message>
      <source>A value of Python's type {0} cannot be stored: {1}.</source>
      <translation>Ein Wert vom Python-Typ {0} lässt sich nicht speichern: {1}.</translation>
    </message>
    <message>
      <source>A version in {0} was taken away by somebody else.</source>
      <translation>Eine Version in {0} wurde von jemand anderem entfernt.</translation>
    </message>
    <message>
      <source>A version is a whole number or a date, and this document's {0}; mend that first.</source>
      <translation>Eine Version ist eine ganze Zahl oder ein Datum, und die dieses Dokuments {0}; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>A version is stored as text or as a fraction where whole numbers are expected.</source>
      <translation>Eine Version ist als Text oder Bruch gespeichert, wo ganze Zahlen erwartet werden.</translation>
    </message>
    <message>
      <source>A version of {0} cannot be archived: it {1}.</source>
      <translation>Eine Version von {0} lässt sich nicht archivieren: Sie {1}.</translation>
    </message>
    <message>
      <source>A version of {0} holds only changes, and nothing would show that the oldest one left is stored whole: {1}.</source>
      <translation>Eine Version von {0} hält nur Änderungen fest, und nichts würde zeigen, dass die älteste, die bleibt, vollständig gespeichert ist: {1}.</translation>
    </message>
    <message>
      <source>A version of {0} was deleted before it could be read.</source>
      <translation>Eine Version von {0} wurde gelöscht, bevor sie gelesen werden konnte.</translation>
    </message>
    <message>
      <source>A version with nothing but {0} says that its document is deleted; delete it, or add a field.</source>
      <translation>Eine Version mit nichts als {0} besagt, dass ihr Dokument gelöscht ist; löschen Sie es, oder fügen Sie ein Feld hinzu.</translation>
    </message>
    <message>
      <source>A version without a number</source>
      <translation>Eine Version ohne Nummer</translation>
    </message>
    <message>
      <source>A view, which can only be read.</source>
      <translation>Eine View, die sich nur lesen lässt.</translation>
    </message>
    <message>
      <source>A write that was sent twice under one number took effect once.</source>
      <translation>Ein zweimal unter einer Nummer gesendeter Schreibvorgang wirkte einmal.</translation>
    </message>
    <message>
      <source>A write that was sent twice under one number took effect twice, and drivers resend on this server. Writes from here survive that: their guards match only once.</source>
      <translation>Ein Schreibvorgang, der unter einer Nummer zweimal gesendet wurde, wirkte zweimal, und Treiber senden auf diesem Server erneut. Schreibvorgänge von hier überstehen das: Ihre Bedingungen treffen nur einmal zu.</translation>
    </message>
    <message>
      <source>A write that was sent twice under one number took effect twice; this connection does not resend.</source>
      <translation>Ein zweimal unter einer Nummer gesendeter Schreibvorgang wirkte zweimal; diese Verbindung sendet nicht erneut.</translation>
    </message>
    <message>
      <source>A writer noted a token and has not raised the counter: it died, or may still be at work.</source>
      <translation>Ein Programm hat ein Token notiert und den Zähler nicht erhöht: Es ist abgestürzt oder arbeitet vielleicht noch.</translation>
    </message>
    <message>
      <source>A writer that filters by the hash alone changes the wrong one.</source>
      <translation>Ein Schreiber, der nur nach dem Hash filtert, ändert das falsche.</translation>
    </message>
    <message>
      <source>Add retryWrites=false to the addresses of other programs.</source>
      <translation>Fügen Sie retryWrites=false zu den Adressen anderer Programme hinzu.</translation>
    </message>
    <message>
      <source>Address</source>
      <translation>Adresse</translation>
    </message>
    <message>
      <source>All connections are busy; try again.</source>
      <translation>Alle Verbindungen sind belegt; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>All its versions go with it and are kept in the journal, and can be brought back from there.</source>
      <translation>Alle seine Versionen gehen mit und bleiben im Journal, aus dem es sich zurückholen lässt.</translation>
    </message>
    <message>
      <source>All its versions stay; one that says that it is deleted follows them, and restoring an earlier one brings it back.</source>
      <translation>Alle seine Versionen bleiben; eine, die es für gelöscht erklärt, folgt ihnen, und das Wiederherstellen einer früheren bringt es zurück.</translation>
    </message>
    <message>
      <source>All versions of {0} stay.</source>
      <translation>Alle Versionen von {0} bleiben.</translation>
    </message>
    <message>
      <source>Amazon DocumentDB</source>
      <translation>Amazon DocumentDB</translation>
    </message>
    <message>
      <source>An ObjectId has 24 hexadecimal digits.</source>
      <translation>Eine ObjectId hat 24 hexadezimale Ziffern.</translation>
    </message>
    <message>
      <source>An access key of AWS needs its secret key; give that as the password.</source>
      <translation>Ein Zugriffsschlüssel von AWS braucht seinen geheimen Schlüssel; geben Sie ihn als Passwort an.</translation>
    </message>
    <message>
      <source>An amount is never 0, and is part of the token: name a token or an amount, not both.</source>
      <translation>Ein Betrag ist nicht 0 und steht im Token: Nennen Sie ein Token oder einen Betrag, nicht beides.</translation>
    </message>
    <message>
      <source>An application writes these documents together with a snapshot of each, and an edit from here would leave the snapshots behind; edit with that application, or state another layout in a profile.</source>
      <translation>Eine Anwendung schreibt diese Dokumente mit je einem Abbild, und eine Bearbeitung von hier ließe die Abbilder zurück; bearbeiten Sie mit jener Anwendung oder geben Sie in einem Profil ein anderes Layout an.</translation>
    </message>
    <message>
      <source>An archive can only be fed by asking again and again, which misses what changes in between.</source>
      <translation>Ein Archiv lässt sich nur durch ständiges Nachfragen füttern, und das verpasst, was sich dazwischen ändert.</translation>
    </message>
    <message>
      <source>An edit made here has no entry in {0}.</source>
      <translation>Eine Bearbeitung von hier hat keinen Eintrag in {0}.</translation>
    </message>
    <message>
      <source>An edit of another field harms a document in which a field's name has a dot.</source>
      <translation>Eine Bearbeitung eines anderen Feldes schadet einem Dokument, in dem ein Feldname einen Punkt hat.</translation>
    </message>
    <message>
      <source>An entry is a text, a number, a date, an ObjectId or a UUID; {0} is a {1}.</source>
      <translation>Ein Eintrag ist ein Text, eine Zahl, ein Datum, eine ObjectId oder eine UUID; {0} ist vom Typ {1}.</translation>
    </message>
    <message>
      <source>An equal document is there as {0}, and it is not known whose it is.</source>
      <translation>Ein gleiches Dokument ist als {0} vorhanden, und niemand kann sagen, wessen es ist.</translation>
    </message>
    <message>
      <source>An erasure has no way back.</source>
      <translation>Ein Löschen von Feldern lässt sich nicht rückgängig machen.</translation>
    </message>
    <message>
      <source>An id belongs to one collection; name just that one.</source>
      <translation>Eine Id gehört zu einer Sammlung; nennen Sie nur diese.</translation>
    </message>
    <message>
      <source>An id here has the parts {0}; write it as a document of these.</source>
      <translation>Eine Id hat hier die Teile {0}; schreiben Sie sie als Dokument aus diesen.</translation>
    </message>
    <message>
      <source>An index is not dropped from here; drop it with your own tools.</source>
      <translation>Ein Index wird von hier nicht gelöscht; tun Sie das mit eigenen Werkzeugen.</translation>
    </message>
    <message>
      <source>An inserted document comes back with its fields in another order.{0}</source>
      <translation>Ein eingefügtes Dokument kommt mit anderer Feldreihenfolge zurück.{0}</translation>
    </message>
    <message>
      <source>An old version is flagged as current</source>
      <translation>Eine alte Version ist als aktuell gekennzeichnet</translation>
    </message>
    <message>
      <source>An order for {0} is an array of the same {1} names, each once.</source>
      <translation>Eine Reihenfolge für {0} ist ein Array derselben {1} Namen, jeder einmal.</translation>
    </message>
    <message>
      <source>An update is a document of operators, as in {"$set": {"status": "closed"}}.</source>
      <translation>Ein Update ist ein Dokument aus Operatoren, etwa {"$set": {"status": "closed"}}.</translation>
    </message>
    <message>
      <source>An update that is a pipeline is not taken here; say the fields with $set, $unset and $rename.</source>
      <translation>Ein Update als Pipeline wird hier nicht angenommen; nennen Sie die Felder mit $set, $unset und $rename.</translation>
    </message>
    <message>
      <source>An upsert raced with another, or did not match, so a key has more than one document.</source>
      <translation>Ein Upsert lief mit einem anderen um die Wette oder traf nicht, so dass ein Schlüssel mehrere Dokumente hat.</translation>
    </message>
    <message>
      <source>Another document has the id {0}; it is not known whether yours was there before it.</source>
      <translation>Ein anderes Dokument hat die Id {0}; ob Ihres vorher da war, kann niemand sagen.</translation>
    </message>
    <message>
      <source>Another program keeps the versions of {0} in a form of its own; erase there.</source>
      <translation>Ein anderes Programm führt die Versionen von {0} in eigener Form; löschen Sie dort.</translation>
    </message>
    <message>
      <source>Another program keeps the versions of {0}, and only that can remove them.</source>
      <translation>Ein anderes Programm führt die Versionen von {0}, und nur dieses kann sie entfernen.</translation>
    </message>
    <message>
      <source>Another write to the same document was in the way; try again.</source>
      <translation>Ein anderer Schreibvorgang am selben Dokument war im Weg; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>Another {0} of this source is at work{1} ({2}); this one did nothing.</source>
      <translation>Ein anderer Lauf ({0}) an dieser Quelle ist am Werk{1} ({2}); dieser hat nichts getan.</translation>
    </message>
    <message>
      <source>Answer</source>
      <translation>Antwort</translation>
    </message>
    <message>
      <source>Answers from the index {0} alone, and {1}.</source>
      <translation>Antwortet allein aus dem Index {0} und {1}.</translation>
    </message>
    <message>
      <source>Archive</source>
      <translation>Archivieren</translation>
    </message>
    <message>
      <source>Archive behind its source</source>
      <translation>Archiv hinter seiner Quelle</translation>
    </message>
    <message>
      <source>Archive lacks versions</source>
      <translation>Archiv lückenhaft</translation>
    </message>
    <message>
      <source>Archive without document</source>
      <translation>Archiv ohne Dokument</translation>
    </message>
    <message>
      <source>Archived copy differs</source>
      <translation>Archivkopie weicht ab</translation>
    </message>
    <message>
      <source>Atomic swaps</source>
      <translation>Atomarer Tausch</translation>
    </message>
    <message>
      <source>Azure Cosmos DB</source>
      <translation>Azure Cosmos DB</translation>
    </message>
    <message>
      <source>Azure DocumentDB</source>
      <translation>Azure DocumentDB</translation>
    </message>
    <message>
      <source>Beside $code only a $scope is allowed, a document: {0}.</source>
      <translation>Neben $code darf nur ein $scope stehen, ein Dokument: {0}.</translation>
    </message>
    <message>
      <source>Beside the edited fields it writes {0} and {1}.</source>
      <translation>Außer den bearbeiteten Feldern schreibt es {0} und {1}.</translation>
    </message>
    <message>
      <source>Beside the edited fields it writes {0}.</source>
      <translation>Außer den bearbeiteten Feldern schreibt es {0}.</translation>
    </message>
    <message>
      <source>Binary.createFromBase64("SGVsbG8=", 0)</source>
      <translation>Binary.createFromBase64("SGVsbG8=", 0)</translation>
    </message>
    <message>
      <source>Blocks edits</source>
      <translation>Blockiert Bearbeitungen</translation>
    </message>
    <message>
      <source>Both cannot be kept at {0}: choose one side or give a value.</source>
      <translation>Bei {0} kann nicht beides bleiben: Wählen Sie eine Seite oder geben Sie einen Wert an.</translation>
    </message>
    <message>
      <source>Both sides changed {0}{1} in different ways; choose first.</source>
      <translation>Beide Seiten haben {0}{1} verschieden geändert; wählen Sie zuerst.</translation>
    </message>
    <message>
      <source>Bring back an old value</source>
      <translation>Einen alten Wert zurückholen</translation>
    </message>
    <message>
      <source>Broken prev chains</source>
      <translation>Defekte prev-Ketten</translation>
    </message>
    <message>
      <source>By {0} a document changes about {1} times a year; </source>
      <translation>Nach {0} ändert sich ein Dokument etwa {1}-mal im Jahr; </translation>
    </message>
    <message>
      <source>Byte {0} belongs to a value of the unknown BSON type {1}.</source>
      <translation>Byte {0} gehört zu einem Wert des unbekannten BSON-Typs {1}.</translation>
    </message>
    <message>
      <source>Change map of K-118240: 30 fields, 60 versions</source>
      <translation>Änderungskarte: 30 Felder, 60 Versionen</translation>
    </message>
    <message>
      <source>Change streams</source>
      <translation>Change Streams</translation>
    </message>
    <message>
      <source>Change streams are switched off for this collection; the command modifyChangeStreams switches them on.</source>
      <translation>Change Streams sind für diese Sammlung ausgeschaltet; der Befehl modifyChangeStreams schaltet sie ein.</translation>
    </message>
    <message>
      <source>Changed silently: {0}.</source>
      <translation>Still geändert: {0}.</translation>
    </message>
    <message>
      <source>Changes of the documents of {0} lie in {1} ({2} of {3} look-ups fit).</source>
      <translation>Änderungen der Dokumente von {0} liegen in {1} ({2} von {3} Nachschlagungen passen).</translation>
    </message>
    <message>
      <source>Clock</source>
      <translation>Uhr</translation>
    </message>
    <message>
      <source>Clocks in {0} showed {1} twice on that day, and the first of them is meant.</source>
      <translation>Uhren in {0} zeigten an diesem Tag zweimal {1}; gemeint ist das erste Mal.</translation>
    </message>
    <message>
      <source>Clocks in {0} skipped {1} on that day.</source>
      <translation>Uhren in {0} übersprangen an diesem Tag {1}.</translation>
    </message>
    <message>
      <source>Code that takes the last element for the version before gets another one.</source>
      <translation>Code, der das letzte Element für die Version davor hält, erhält eine andere.</translation>
    </message>
    <message>
      <source>Code with scope</source>
      <translation>Code mit Scope</translation>
    </message>
    <message>
      <source>Commit {0} of {1}</source>
      <translation>Commit {0} von {1}</translation>
    </message>
    <message>
      <source>Commit {0} of {1} is not from an export; use a repository that only exports write.</source>
      <translation>Commit {0} von {1} stammt von keinem Export; nehmen Sie ein Repository, in das nur Exporte schreiben.</translation>
    </message>
    <message>
      <source>Compare both, and save the one that is right as a new version.</source>
      <translation>Vergleichen Sie beide und speichern Sie den richtigen als neue Version.</translation>
    </message>
    <message>
      <source>Compare two versions</source>
      <translation>Zwei Versionen vergleichen</translation>
    </message>
    <message>
      <source>Compare what was stored, not what was sent, before trusting a hash.</source>
      <translation>Vergleichen Sie das Gespeicherte, nicht das Gesendete, bevor Sie einem Hash trauen.</translation>
    </message>
    <message>
      <source>Compared by rules: {0}.</source>
      <translation>Nach Regeln verglichen: {0}.</translation>
    </message>
    <message>
      <source>Content in doubt</source>
      <translation>Inhalt zweifelhaft</translation>
    </message>
    <message>
      <source>Convert</source>
      <translation>Umwandeln</translation>
    </message>
    <message>
      <source>Counters that are not numbers</source>
      <translation>Zähler ohne Zahl</translation>
    </message>
    <message>
      <source>Counters that fell behind</source>
      <translation>Zurückgefallene Zähler</translation>
    </message>
    <message>
      <source>Counting in {0} would have to renew {1}, the lock of another program; count there.</source>
      <translation>Zählen in {0} müsste {1} erneuern, die Sperre eines anderen Programms; zählen Sie dort.</translation>
    </message>
    <message>
      <source>Counting the deleted documents takes too long.</source>
      <translation>Das Zählen der gelöschten Dokumente dauert zu lange.</translation>
    </message>
    <message>
      <source>Counts and numbers</source>
      <translation>Zähler und Nummern</translation>
    </message>
    <message>
      <source>Counts are never added up from here; decide which document stands and take over what the other counted.</source>
      <translation>Zählungen werden von hier nie addiert; entscheiden Sie, welches Dokument gilt, und übernehmen Sie, was das andere zählte.</translation>
    </message>
    <message>
      <source>Created</source>
      <translation>Angelegt</translation>
    </message>
    <message>
      <source>Created as {0}.</source>
      <translation>Angelegt als {0}.</translation>
    </message>
    <message>
      <source>Created as {0}. {1}</source>
      <translation>Angelegt als {0}. {1}</translation>
    </message>
    <message>
      <source>Created.</source>
      <translation>Angelegt.</translation>
    </message>
    <message>
      <source>Decimal128 NaN</source>
      <translation>Decimal128 NaN</translation>
    </message>
    <message>
      <source>Deleted</source>
      <translation>Gelöscht</translation>
    </message>
    <message>
      <source>Deletions without a date get a version of their own, without time and author</source>
      <translation>Löschungen ohne Datum bekommen eine eigene Version, ohne Zeit und Urheber</translation>
    </message>
    <message>
      <source>Deltas without a base</source>
      <translation>Deltas ohne Basis</translation>
    </message>
    <message>
      <source>Do not store these here: what is read is not what was written.</source>
      <translation>Speichern Sie diese hier nicht: Gelesen wird nicht, was geschrieben wurde.</translation>
    </message>
    <message>
      <source>Document {0} of {1} is not BSON: its length is wrong.</source>
      <translation>Dokument {0} von {1} ist kein BSON: Seine Länge ist falsch.</translation>
    </message>
    <message>
      <source>Documents are created and deleted through {0}, with rows of its own; do it there.</source>
      <translation>Dokumente werden über {0} angelegt und gelöscht, mit eigenen Zeilen; tun Sie es dort.</translation>
    </message>
    <message>
      <source>Documents are deleted whose {0} the server does not tell then: their versions stay in {1}, and when they were deleted is not noted.</source>
      <translation>Es werden Dokumente gelöscht, deren {0} der Server dann nicht sagt: Ihre Versionen bleiben in {1}, und wann sie gelöscht wurden, wird nicht vermerkt.</translation>
    </message>
    <message>
      <source>Documents are scanned in one collection at a time; name just that one.</source>
      <translation>Dokumente werden immer in einer Sammlung geprüft; nennen Sie nur diese.</translation>
    </message>
    <message>
      <source>Documents near 16 MB</source>
      <translation>Dokumente nahe 16 MB</translation>
    </message>
    <message>
      <source>Documents of {0} have no versions, so an edit cannot name its base; leave it out.</source>
      <translation>Dokumente von {0} haben keine Versionen, daher kann eine Bearbeitung ihre Grundlage nicht nennen; lassen Sie sie weg.</translation>
    </message>
    <message>
      <source>Documents of {0} keep no earlier versions, so none can be removed.</source>
      <translation>Dokumente von {0} behalten keine früheren Versionen, also kann keine entfernt werden.</translation>
    </message>
    <message>
      <source>Documents were moved.</source>
      <translation>Dokumente sind umgezogen.</translation>
    </message>
    <message>
      <source>Drivers stop at it or change it silently; here it is shown and never written.</source>
      <translation>Treiber bleiben daran hängen oder ändern es still; hier wird es gezeigt und nie geschrieben.</translation>
    </message>
    <message>
      <source>Duplicate or invalid numbers</source>
      <translation>Doppelte/ungültige Nummern</translation>
    </message>
    <message>
      <source>Duplicate versions</source>
      <translation>Doppelte Versionen</translation>
    </message>
    <message>
      <source>Each document begins as version 1.</source>
      <translation>Jedes Dokument beginnt als Version 1.</translation>
    </message>
    <message>
      <source>Each document gets the field {0}, by which its write can be found again.</source>
      <translation>Jedes Dokument erhält das Feld {0}, an dem sein Schreibvorgang wiedergefunden wird.</translation>
    </message>
    <message>
      <source>Each holds part of the count.</source>
      <translation>Jedes enthält einen Teil der Zählung.</translation>
    </message>
    <message>
      <source>Each number is handed out once by a counter, even after a delete. A writer that loses or dies leaves a gap; unless versions are marked with the number of the next one, a version which is lost looks like that too.</source>
      <translation>Jede Nummer gibt ein Zähler einmal aus, auch nach einem Löschen. Ein Schreiber, der verliert oder stirbt, lässt eine Lücke; sind Versionen nicht mit der Nummer der nächsten markiert, sieht eine verlorene Version genauso aus.</translation>
    </message>
    <message>
      <source>Earlier states of the documents of {0} lie in {1} ({2} of {3} look-ups fit).</source>
      <translation>Frühere Zustände der Dokumente von {0} liegen in {1} ({2} von {3} Nachschlagungen passen).</translation>
    </message>
    <message>
      <source>Earlier versions are read as often as the current one, so each is a document of its own.</source>
      <translation>Frühere Versionen werden so oft gelesen wie die aktuelle, deshalb ist jede ein eigenes Dokument.</translation>
    </message>
    <message>
      <source>Earlier versions may still carry {0}: {1}</source>
      <translation>Frühere Versionen tragen vielleicht noch {0}: {1}</translation>
    </message>
    <message>
      <source>Earlier versions of {0} in {1} were changed or removed since {2}.</source>
      <translation>Frühere Versionen von {0} in {1} wurden seit {2} geändert oder entfernt.</translation>
    </message>
    <message>
      <source>Earlier versions of {0} were there before the archive was fed.</source>
      <translation>Für {0} gab es schon frühere Versionen, bevor das Archiv gefüttert wurde.</translation>
    </message>
    <message>
      <source>Editing on {0} is refused, as its server is unsafe: {1} To edit all the same, allow it for this connection (palimpsest check SOURCE --allow-edits).</source>
      <translation>Bearbeiten auf {0} wird abgelehnt, da der Server unsicher ist: {1} Um trotzdem zu bearbeiten, erlauben Sie es für diese Verbindung (palimpsest check SOURCE --allow-edits).</translation>
    </message>
    <message>
      <source>Edits are guarded by version and token; where a guard on content would be too loose, it is refused.</source>
      <translation>Bearbeitungen sind durch Version und Token abgesichert; wo eine Absicherung über den Inhalt zu locker wäre, wird abgelehnt.</translation>
    </message>
    <message>
      <source>Edits can be lost here without anybody being told: do not let several writers work on this server.</source>
      <translation>Bearbeitungen können hier verloren gehen, ohne dass es jemand erfährt: Lassen Sie nicht mehrere Schreiber auf diesem Server arbeiten.</translation>
    </message>
    <message>
      <source>Edits from here leave the _id out; other programs must too: such a document can never be written again.</source>
      <translation>Bearbeitungen von hier lassen die _id aus; andere Programme müssen das auch: Ein solches Dokument lässt sich nie wieder schreiben.</translation>
    </message>
    <message>
      <source>Encrypted by ssh as far as its host, and not behind it.</source>
      <translation>Durch ssh verschlüsselt bis zu dessen Host, dahinter nicht.</translation>
    </message>
    <message>
      <source>Encrypted by {0}</source>
      <translation>Verschlüsselt durch {0}</translation>
    </message>
    <message>
      <source>Encrypted.</source>
      <translation>Verschlüsselt.</translation>
    </message>
    <message>
      <source>Entries listed twice</source>
      <translation>Doppelt gelistete Einträge</translation>
    </message>
    <message>
      <source>Entry {0} cannot be undone. {1}</source>
      <translation>Eintrag {0} kann nicht zurückgenommen werden. {1}</translation>
    </message>
    <message>
      <source>Entry {0} is not in the journal {1} any more: the file was moved away or started again while this was written, so it cannot be undone from here.</source>
      <translation>Eintrag {0} steht nicht mehr im Journal {1}: Die Datei wurde währenddessen verschoben oder neu begonnen, daher lässt er sich von hier nicht zurücknehmen.</translation>
    </message>
    <message>
      <source>Entry {0} of the journal {1} is damaged, so it cannot be shown or undone.</source>
      <translation>Eintrag {0} des Journals {1} ist beschädigt und kann darum weder gezeigt noch zurückgenommen werden.</translation>
    </message>
    <message>
      <source>Entry {0} of the journal {1} is damaged; it is left out.</source>
      <translation>Eintrag {0} des Journals {1} ist beschädigt; er wird ausgelassen.</translation>
    </message>
    <message>
      <source>Entry {0} was written in the layout {1}, and {2} is taken for {3} now; choose the layout {4} for it first (--layout {5}).</source>
      <translation>Eintrag {0} wurde im Layout {1} geschrieben, und {2} wird jetzt für {3} gehalten; wählen Sie dafür zuerst das Layout {4} (--layout {5}).</translation>
    </message>
    <message>
      <source>Entry {0} was written to {1}; open that source to look for it.</source>
      <translation>Eintrag {0} wurde in {1} geschrieben; öffnen Sie diese Quelle, um danach zu suchen.</translation>
    </message>
    <message>
      <source>Entry {0} was written to {1}; open that source to undo it.</source>
      <translation>Eintrag {0} wurde in {1} geschrieben; öffnen Sie diese Quelle, um ihn zurückzunehmen.</translation>
    </message>
    <message>
      <source>Entry {0} was written with {1}, and {2} is read otherwise without it; </source>
      <translation>Eintrag {0} wurde mit {1} geschrieben, und {2} wird ohne das anders gelesen; </translation>
    </message>
    <message>
      <source>Equal hashes</source>
      <translation>Gleiche Hashes</translation>
    </message>
    <message>
      <source>Every entry is listed once now.</source>
      <translation>Jeder Eintrag steht jetzt einmal da.</translation>
    </message>
    <message>
      <source>Every later edit of the document is refused.</source>
      <translation>Jede spätere Bearbeitung des Dokuments wird abgelehnt.</translation>
    </message>
    <message>
      <source>Every version of it is a whole number now.</source>
      <translation>Jede Version davon ist jetzt eine ganze Zahl.</translation>
    </message>
    <message>
      <source>Fields cannot be stored whose names have {0}.</source>
      <translation>Felder lassen sich nicht speichern, deren Namen eines davon haben: {0}.</translation>
    </message>
    <message>
      <source>Fields keep their order</source>
      <translation>Felder behalten ihre Reihenfolge</translation>
    </message>
    <message>
      <source>Fields of this document were erased, and what it was before is not kept any more.</source>
      <translation>Felder dieses Dokuments wurden endgültig gelöscht; was es vorher war, ist nicht mehr aufbewahrt.</translation>
    </message>
    <message>
      <source>Fields were erased in {0}.</source>
      <translation>Felder wurden in {0} endgültig gelöscht.</translation>
    </message>
    <message>
      <source>Filters can tell 1.0 from 1.00, 0.0 from -0.0, and one order from another.</source>
      <translation>Filter unterscheiden 1.0 von 1.00, 0.0 von -0.0 und eine Reihenfolge von der anderen.</translation>
    </message>
    <message>
      <source>Filters cannot tell apart: {0}.</source>
      <translation>Filter unterscheiden nicht: {0}.</translation>
    </message>
    <message>
      <source>Find out why the feed stopped, and start it again; its resume point is not touched from here.</source>
      <translation>Sehen Sie nach, warum die Fütterung stehen blieb, und setzen Sie sie fort; ihr Fortsetzungspunkt wird von hier nicht berührt.</translation>
    </message>
    <message>
      <source>Finish</source>
      <translation>Abschließen</translation>
    </message>
    <message>
      <source>First a copy goes to {0}, then the archive's {1} is deleted if every byte of it is as it was seen. The document is read again behind it; has it changed, the row is put back.</source>
      <translation>Zuerst geht eine Kopie nach {0}, dann wird {1} im Archiv gelöscht, falls jedes Byte davon wie gesehen ist. Danach wird das Dokument erneut gelesen; hat es sich geändert, wird die Zeile zurückgelegt.</translation>
    </message>
    <message>
      <source>First a copy goes to {0}, then the second {1} is deleted if every byte of it is as it was seen. The one that stays is read again behind it; is it gone, the deleted one is put back.</source>
      <translation>Zuerst geht eine Kopie nach {0}, dann wird das zweite {1} gelöscht, falls jedes Byte davon wie gesehen ist. Danach wird das, was bleibt, erneut gelesen; ist es weg, wird das gelöschte zurückgelegt.</translation>
    </message>
    <message>
      <source>First a copy goes to {0}, then {1} is deleted if every byte of it is as it was seen. The document is read again behind it; has it moved on, the row is put back.</source>
      <translation>Zuerst geht eine Kopie nach {0}, dann wird {1} gelöscht, wenn jedes Byte noch ist wie gesehen. Danach wird das Dokument erneut gelesen; ist es weitergerückt, wird die Zeile zurückgelegt.</translation>
    </message>
    <message>
      <source>First each version is inserted into {0} as it stands; then one update takes them out of {1}, which applies only if every byte of the document is as it was seen. Undo brings them back.</source>
      <translation>Zuerst wird jede Version so, wie sie ist, in {0} eingefügt; dann nimmt eine Aktualisierung sie aus {1} heraus, die nur gilt, falls jedes Byte des Dokuments wie gesehen ist. Rückgängig bringt sie zurück.</translation>
    </message>
    <message>
      <source>First the new version is inserted with {0}; the unique index on {1} and {2} lets one writer have its number. Then {3} and all below it lose {4}.</source>
      <translation>Zuerst wird die neue Version mit {0} eingefügt; der eindeutige Index auf {1} und {2} gibt einem Schreiber ihre Nummer. Dann verlieren {3} und alle darunter {0}.</translation>
    </message>
    <message>
      <source>First {0} goes to {1}, as {2} does it. {3}</source>
      <translation>Zuerst kommt {0} nach {1}, wie {2} es tut. {3}</translation>
    </message>
    <message>
      <source>First {0} is copied to {1}. The swap then applies only if {2} is still {3}{4}.</source>
      <translation>Zuerst wird {0} nach {1} kopiert. Der Tausch gilt dann nur, wenn {2} noch {3} ist{4}.</translation>
    </message>
    <message>
      <source>First {0}, the highest version, gets {1} where it has none; then each version below loses it. Each write applies only if that version is as it was seen, and afterwards all is read again until it is right.</source>
      <translation>Zuerst erhält {0}, die höchste Version, {1}, wo es fehlt; dann verliert es jede Version darunter. Jeder Schreibvorgang gilt nur, falls die Version wie gesehen ist, und danach wird alles erneut gelesen, bis es stimmt.</translation>
    </message>
    <message>
      <source>For each document all of {0} is read, as it has no index on {1}: create one.</source>
      <translation>Für jedes Dokument wird {0} ganz gelesen, da es keinen Index auf {1} hat: Legen Sie einen an.</translation>
    </message>
    <message>
      <source>For one of them, it is not known who deleted it, or when.</source>
      <translation>Für eines davon ist nirgends festgehalten, wer es gelöscht hat und wann.</translation>
    </message>
    <message>
      <source>For {0} of them, it is not known who deleted them, or when.</source>
      <translation>Für {0} davon ist nirgends festgehalten, wer sie gelöscht hat und wann.</translation>
    </message>
    <message>
      <source>Gaps in the versions</source>
      <translation>Lücken in den Versionen</translation>
    </message>
    <message>
      <source>Goes straight to the document by its _id, and {0}.</source>
      <translation>Geht über die _id direkt zum Dokument und {0}.</translation>
    </message>
    <message>
      <source>Hashes of stored documents mean nothing here; do not use the layout hashed.</source>
      <translation>Hashes gespeicherter Dokumente bedeuten hier nichts; verwenden Sie das Layout hashed nicht.</translation>
    </message>
    <message>
      <source>History incomplete</source>
      <translation>Verlauf unvollständig</translation>
    </message>
    <message>
      <source>Holds {0} of {1}{2}.</source>
      <translation>Enthält {0} von {1}{2}.</translation>
    </message>
    <message>
      <source>How far its feed has come is not known. {0}</source>
      <translation>Wie weit das Nachführen gekommen ist, ist nicht bekannt. {0}</translation>
    </message>
    <message>
      <source>How the hash in {0} is made is not proven: no recipe known gives it; {1}.</source>
      <translation>Wie der Hash in {0} entsteht, ist nicht bewiesen: Kein bekanntes Rezept ergibt ihn; {1}.</translation>
    </message>
    <message>
      <source>How the hash in {0} is made is not proven: {1} fits in {2} of {3} documents looked at, and not in the others; {4}.</source>
      <translation>Wie der Hash in {0} entsteht, ist nicht bewiesen: {1} passt bei {2} von {3} angesehenen Dokumenten und bei den anderen nicht; {4}.</translation>
    </message>
    <message>
      <source>Ids of {0} have several fields, which an erasure cannot follow into all places.</source>
      <translation>Ids von {0} haben mehrere Felder; denen kann ein endgültiges Löschen nicht überallhin folgen.</translation>
    </message>
    <message>
      <source>In {0} of {1}, {2} is {3}.</source>
      <translation>In {0} von {1} ist {2} {3}.</translation>
    </message>
    <message>
      <source>In {0} {1}, which a write by the layout {2} would not do.</source>
      <translation>In {0} gilt: {1}; das täte ein Schreibvorgang nach dem Layout {2} nicht.</translation>
    </message>
    <message>
      <source>Index {0}: {1} here, {2} there.</source>
      <translation>Index {0}: {1} hier, {2} dort.</translation>
    </message>
    <message>
      <source>Index {0}{1} is only here.</source>
      <translation>Index {0}{1} gibt es nur hier.</translation>
    </message>
    <message>
      <source>Index {0}{1} is only there.</source>
      <translation>Index {0}{1} gibt es nur dort.</translation>
    </message>
    <message>
      <source>Indexes and options are not compared, as the file of {0} names none.</source>
      <translation>Indizes und Optionen werden nicht verglichen, da die Datei von {0} keine nennt.</translation>
    </message>
    <message>
      <source>Indexes and options are not compared: {0}</source>
      <translation>Indizes und Optionen werden nicht verglichen: {0}</translation>
    </message>
    <message>
      <source>Inserted and replaced documents keep the order of their fields.{0}</source>
      <translation>Eingefügte und ersetzte Dokumente behalten die Reihenfolge ihrer Felder.{0}</translation>
    </message>
    <message>
      <source>Inserted documents keep their order; a replacement comes back in another one.{0}{1}</source>
      <translation>Eingefügte Dokumente behalten ihre Reihenfolge; ein ersetztes kommt in einer anderen zurück.{0}{1}</translation>
    </message>
    <message>
      <source>Inside quotes a " is written \", a backslash \\, a line break \n; correct it or leave the quotes out.</source>
      <translation>In Anführungszeichen schreibt sich ein " als \", ein Rückstrich als \\, ein Zeilenumbruch als \n; berichtigen Sie es, oder lassen Sie die Anführungszeichen weg.</translation>
    </message>
    <message>
      <source>Int64 or Decimal128</source>
      <translation>Int64 oder Decimal128</translation>
    </message>
    <message>
      <source>Is a directory</source>
      <translation>Ist ein Verzeichnis</translation>
    </message>
    <message>
      <source>It arrived.</source>
      <translation>Es kam an.</translation>
    </message>
    <message>
      <source>It can be used as it is written.</source>
      <translation>Sie ist so verwendbar.</translation>
    </message>
    <message>
      <source>It cannot be looked at now: {0}</source>
      <translation>Es lässt sich jetzt nicht ansehen: {0}</translation>
    </message>
    <message>
      <source>It cannot be raised, and totals that read it are wrong.</source>
      <translation>Er lässt sich nicht erhöhen, und Summen daraus sind falsch.</translation>
    </message>
    <message>
      <source>It changed meanwhile and keeps all of its versions; some are copied already. Scan again.</source>
      <translation>Es hat sich inzwischen geändert und behält alle seine Versionen; einige sind schon kopiert. Prüfen Sie erneut.</translation>
    </message>
    <message>
      <source>It changed since it was read; nothing was written.</source>
      <translation>Es hat sich seit dem Lesen geändert; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>It could not be looked through to its end: {0}</source>
      <translation>Sie ließ sich nicht bis zum Ende durchsehen: {0}</translation>
    </message>
    <message>
      <source>It could not be measured: {0}</source>
      <translation>Es konnte nicht gemessen werden: {0}</translation>
    </message>
    <message>
      <source>It is as it was before the {0}.</source>
      <translation>Es ist, wie es vor dem Vorgang war ({0}).</translation>
    </message>
    <message>
      <source>It is being moved to another layout.</source>
      <translation>Sie zieht gerade in ein anderes Layout um.</translation>
    </message>
    <message>
      <source>It is deleted already, as {0}; only a purge removes its versions too.</source>
      <translation>Es ist schon gelöscht, als {0}; nur endgültiges Löschen entfernt auch seine Versionen.</translation>
    </message>
    <message>
      <source>It is empty, so nothing is known about it.</source>
      <translation>Sie ist leer, also lässt sich nichts daraus schließen.</translation>
    </message>
    <message>
      <source>It is empty; a unique index on {0} and {1} suits a document for every version.</source>
      <translation>Sie ist leer; ein eindeutiger Index auf {0} und {1} passt zu einem Dokument je Version.</translation>
    </message>
    <message>
      <source>It is gone.</source>
      <translation>Es ist fort.</translation>
    </message>
    <message>
      <source>It is missing here, so there is nothing to copy.</source>
      <translation>Es fehlt hier, darum gibt es nichts zu kopieren.</translation>
    </message>
    <message>
      <source>It is not known whether a copy was kept, so nothing was removed. {0}</source>
      <translation>Es ist nicht bekannt, ob eine Kopie aufbewahrt wurde, also wurde nichts entfernt. {0}</translation>
    </message>
    <message>
      <source>It is not known whether a write arrived.</source>
      <translation>Es ist nicht bekannt, ob ein Schreibvorgang ankam.</translation>
    </message>
    <message>
      <source>It is not known whether it was written.</source>
      <translation>Es ist nicht bekannt, ob es geschrieben wurde.</translation>
    </message>
    <message>
      <source>It is not known whether the delete was applied.</source>
      <translation>Es ist nicht bekannt, ob das Löschen ankam.</translation>
    </message>
    <message>
      <source>It is not known whether the document was created.</source>
      <translation>Es ist nicht bekannt, ob das Dokument angelegt wurde.</translation>
    </message>
    <message>
      <source>It is not known whether the edit was applied.</source>
      <translation>Es ist nicht bekannt, ob die Bearbeitung ankam.</translation>
    </message>
    <message>
      <source>It is not known whether the index was created. {0}</source>
      <translation>Es ist nicht bekannt, ob der Index angelegt wurde. {0}</translation>
    </message>
    <message>
      <source>It is not known whether the undo was applied.</source>
      <translation>Es ist nicht bekannt, ob das Rückgängigmachen ankam.</translation>
    </message>
    <message>
      <source>It is not known whether this write arrived; check that first.</source>
      <translation>Es ist nicht bekannt, ob dieser Schreibvorgang ankam; prüfen Sie das zuerst.</translation>
    </message>
    <message>
      <source>It is not known whether {0} got its row, so {1} was left as it is.</source>
      <translation>Es ist nicht bekannt, ob {0} seine Zeile bekam, daher blieb {1}, wie es ist.</translation>
    </message>
    <message>
      <source>It is not known whether {0} was applied. </source>
      <translation>Es ist nicht bekannt, ob {0} angewendet wurde. </translation>
    </message>
    <message>
      <source>It is not known which field the counter {0} numbers; state it in a profile.</source>
      <translation>Es ist nicht bekannt, welches Feld der Zähler {0} nummeriert; geben Sie es in einem Profil an.</translation>
    </message>
    <message>
      <source>It is not proven: {0}.</source>
      <translation>Es ist nicht belegt: {0}.</translation>
    </message>
    <message>
      <source>It is not ticked in the plan; nothing was written.</source>
      <translation>Es ist im Plan nicht angekreuzt; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>It is shown and never written; mend it with the tools of whoever wrote it.</source>
      <translation>Es wird gezeigt und nie geschrieben; reparieren Sie es mit den Werkzeugen seines Schreibers.</translation>
    </message>
    <message>
      <source>It is shown to be read.</source>
      <translation>Es wird nur zum Lesen gezeigt.</translation>
    </message>
    <message>
      <source>It is there again.</source>
      <translation>Es ist wieder da.</translation>
    </message>
    <message>
      <source>It is there, and has later versions.</source>
      <translation>Es ist da und hat spätere Versionen.</translation>
    </message>
    <message>
      <source>It is there.</source>
      <translation>Es ist da.</translation>
    </message>
    <message>
      <source>It is written all the time; repair it again later.</source>
      <translation>Es wird ständig geschrieben; reparieren Sie es später.</translation>
    </message>
    <message>
      <source>It is younger than the grace period, so its writer may still be at work</source>
      <translation>Es ist jünger als die Schonfrist, sein Schreiber arbeitet vielleicht noch</translation>
    </message>
    <message>
      <source>It is younger than the grace period, so its writer may still be at work; scan again later.</source>
      <translation>Es ist jünger als die Schonfrist, sein Schreiber arbeitet vielleicht noch; prüfen Sie später erneut.</translation>
    </message>
    <message>
      <source>It leaves {0}{1} empty, which each of the {2} documents looked at has.</source>
      <translation>Das lässt {0}{1} leer, was jedes der {2} angesehenen Dokumente hat.</translation>
    </message>
    <message>
      <source>It may have stopped half-way: run the erasure again, for what is left.</source>
      <translation>Es wurde vielleicht unterbrochen: führen Sie das Löschen noch einmal aus, für den Rest.</translation>
    </message>
    <message>
      <source>It occurs twice in what you want to insert.</source>
      <translation>Es steht zweimal in dem, was eingefügt werden soll.</translation>
    </message>
    <message>
      <source>It sorts apart from the others, so another version may be taken for the newest.</source>
      <translation>Sie sortiert sich abseits der anderen, so dass eine andere für die neueste gelten kann.</translation>
    </message>
    <message>
      <source>It stays: {0}</source>
      <translation>Es bleibt: {0}</translation>
    </message>
    <message>
      <source>It stopped on its way to {0}: run it again to continue, or take it back.</source>
      <translation>Es hielt auf dem Weg zu {0} an: Starten Sie es neu, dann geht es weiter, oder nehmen Sie es zurück.</translation>
    </message>
    <message>
      <source>It waits for an answer in the plan: {0}</source>
      <translation>Es wartet auf eine Antwort im Plan: {0}</translation>
    </message>
    <message>
      <source>It was being written whenever it was read.</source>
      <translation>Es wurde bei jedem Ansehen gerade geschrieben.</translation>
    </message>
    <message>
      <source>It was counted twice, or its list was written without a guard.</source>
      <translation>Er wurde doppelt gezählt, oder seine Liste wurde ungesichert geschrieben.</translation>
    </message>
    <message>
      <source>It was deleted after {0}.</source>
      <translation>Es wurde nach {0} gelöscht.</translation>
    </message>
    <message>
      <source>It was deleted meanwhile.</source>
      <translation>Es wurde inzwischen gelöscht.</translation>
    </message>
    <message>
      <source>It was meant to go: leave the archive as it is</source>
      <translation>Es sollte weg: das Archiv so lassen</translation>
    </message>
    <message>
      <source>It was not reached.</source>
      <translation>Es wurde nicht erreicht.</translation>
    </message>
    <message>
      <source>It was put back, as the document had moved on since it was taken out.</source>
      <translation>Es wurde zurückgelegt, denn das Dokument war weitergegangen, seit es herausgenommen wurde.</translation>
    </message>
    <message>
      <source>It was sent again by entry {0}.</source>
      <translation>Es wurde mit Eintrag {0} noch einmal gesendet.</translation>
    </message>
    <message>
      <source>It was there already.</source>
      <translation>Es war schon da.</translation>
    </message>
    <message>
      <source>It was undone already, by entry {0}.</source>
      <translation>Es wurde schon rückgängig gemacht, durch Eintrag {0}.</translation>
    </message>
    <message>
      <source>It was written to data in memory, which are gone.</source>
      <translation>Es wurde in Daten im Speicher geschrieben, die es nicht mehr gibt.</translation>
    </message>
    <message>
      <source>Item {0} asks nothing.</source>
      <translation>Posten {0} fragt nichts.</translation>
    </message>
    <message>
      <source>Item {0} has no repair. {1}</source>
      <translation>Posten {0} hat keine Reparatur. {1}</translation>
    </message>
    <message>
      <source>Its number was given to nobody, and is left out if the counter moved.</source>
      <translation>Seine Nummer erhielt niemand; sie bleibt aus, wenn der Zähler weiterging.</translation>
    </message>
    <message>
      <source>Its place is taken by another document; nothing was put back.</source>
      <translation>An seiner Stelle ist ein anderes Dokument; nichts wurde zurückgelegt.</translation>
    </message>
    <message>
      <source>Its row is left in {0} and keeps others from saving; look for this write again. {1}</source>
      <translation>Seine Zeile blieb in {0} und hält andere vom Speichern ab; suchen Sie noch einmal nach diesem Schreibvorgang. {1}</translation>
    </message>
    <message>
      <source>Its rows are {0}.</source>
      <translation>Ihre Zeilen sind {0}.</translation>
    </message>
    <message>
      <source>Its rows hold states of the documents of {0} {1}</source>
      <translation>Ihre Zeilen enthalten Zustände der Dokumente von {0} {1}</translation>
    </message>
    <message>
      <source>Its rows record changes in {0}, of fields that the documents of {1} have</source>
      <translation>Ihre Zeilen halten in {0} Änderungen von Feldern fest, die die Dokumente von {1} haben</translation>
    </message>
    <message>
      <source>Its rows record changes or events, but nothing in them names a document that is there.</source>
      <translation>Ihre Zeilen halten Änderungen oder Ereignisse fest, aber nichts darin nennt ein Dokument, das da ist.</translation>
    </message>
    <message>
      <source>Its time is not known.</source>
      <translation>Seine Zeit ist nicht bekannt.</translation>
    </message>
    <message>
      <source>Its versions are not whole numbers; mend that first.</source>
      <translation>Seine Versionen sind keine ganzen Zahlen; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>Its versions stay in {0}, and restoring one of them brings it back.</source>
      <translation>Seine Versionen bleiben in {0}, und das Wiederherstellen einer davon bringt es zurück.</translation>
    </message>
    <message>
      <source>Its writer may still be at work; look again after the grace period.</source>
      <translation>Sein Schreiber arbeitet vielleicht noch; sehen Sie nach der Schonfrist erneut nach.</translation>
    </message>
    <message>
      <source>JavaScript has no one word for a value of type {0}</source>
      <translation>JavaScript hat kein eindeutiges Wort für einen Wert vom Typ {0}</translation>
    </message>
    <message>
      <source>JavaScript with scope</source>
      <translation>JavaScript mit Scope</translation>
    </message>
    <message>
      <source>JavaScript's</source>
      <translation>wie JavaScript</translation>
    </message>
    <message>
      <source>K-204117: pick v11 and v14 on the timeline</source>
      <translation>K-204117: v11 und v14 auf der Zeitleiste wählen</translation>
    </message>
    <message>
      <source>Keep retryWrites=false in the address, and add it to those of other programs.</source>
      <translation>Lassen Sie retryWrites=false in der Adresse, und ergänzen Sie die Adressen anderer Programme darum.</translation>
    </message>
    <message>
      <source>Keep such names out of this server: other programs can damage such documents.</source>
      <translation>Halten Sie solche Namen von diesem Server fern: Andere Programme können solche Dokumente beschädigen.</translation>
    </message>
    <message>
      <source>Keep these kinds of value out of documents on this server.</source>
      <translation>Halten Sie diese Arten von Werten aus Dokumenten auf diesem Server heraus.</translation>
    </message>
    <message>
      <source>Kept by the MongoDB server for itself, and only read: its documents have no versions.</source>
      <translation>Vom MongoDB-Server für sich selbst geführt und nur zu lesen: Die Dokumente haben keine Versionen.</translation>
    </message>
    <message>
      <source>Later states are shown as unproven.</source>
      <translation>Spätere Stände werden als unbelegt gezeigt.</translation>
    </message>
    <message>
      <source>Later states are shown as unproven; look for the missing delta in a backup.</source>
      <translation>Spätere Stände werden als unbelegt gezeigt; suchen Sie das fehlende Delta in einer Sicherung.</translation>
    </message>
    <message>
      <source>Layouts with a document for every version, and archives, cannot be written safely here.</source>
      <translation>Layouts mit einem Dokument je Version und Archive lassen sich hier nicht sicher schreiben.</translation>
    </message>
    <message>
      <source>Leave both as they are</source>
      <translation>Beide so lassen</translation>
    </message>
    <message>
      <source>Leave it as it is</source>
      <translation>So lassen</translation>
    </message>
    <message>
      <source>Left out are names that no database can have: the server lists {0}.</source>
      <translation>Namen, die keine Datenbank haben kann, sind ausgelassen: Der Server führt {0} auf.</translation>
    </message>
    <message>
      <source>Left out of {0} are names that no collection can have: the server lists {1}.</source>
      <translation>In {0} sind Namen ausgelassen, die keine Sammlung haben kann: Der Server führt {1} auf.</translation>
    </message>
    <message>
      <source>Line 1, column 1: this is a value of type {0}; a document is written {…}.</source>
      <translation>Zeile 1, Spalte 1: Dies ist ein Wert vom Typ {0}; ein Dokument schreibt sich {…}.</translation>
    </message>
    <message>
      <source>Line 1, column 1: this is a value of type {0}; write a document, as in {"a": 1}.</source>
      <translation>Zeile 1, Spalte 1: Dies ist ein Wert vom Typ {0}; schreiben Sie ein Dokument, wie in {"a": 1}.</translation>
    </message>
    <message>
      <source>Line {0} of {1}</source>
      <translation>Zeile {0} von {1}</translation>
    </message>
    <message>
      <source>Line {0} of {1} is longer than any document; it cannot be one.</source>
      <translation>Zeile {0} von {1} ist länger als jedes Dokument; sie kann keines sein.</translation>
    </message>
    <message>
      <source>Line {0} of {1} is not CSV ({2}); mend the line.</source>
      <translation>Zeile {0} von {1} ist kein CSV ({2}); berichtigen Sie die Zeile.</translation>
    </message>
    <message>
      <source>Line {0} of {1} is not Extended JSON: {2}; mend the line, or take it out.</source>
      <translation>Zeile {0} von {1} ist kein Extended JSON: {2}; berichtigen Sie die Zeile, oder nehmen Sie sie heraus.</translation>
    </message>
    <message>
      <source>Line {0} of {1} is not UTF-8; mend the line, or take it out.</source>
      <translation>Zeile {0} von {1} ist kein UTF-8; reparieren Sie die Zeile, oder nehmen Sie sie heraus.</translation>
    </message>
    <message>
      <source>Line {0} of {1} {2}.</source>
      <translation>Zeile {0} von {1} {2}.</translation>
    </message>
    <message>
      <source>Line {0} of {1}, column {2}: {3}</source>
      <translation>Zeile {0} von {1}, Spalte {2}: {3}</translation>
    </message>
    <message>
      <source>Line {0} of {1}, column {2}: {3} is a value and holds no fields.</source>
      <translation>Zeile {0} von {1}, Spalte {2}: {3} ist ein Wert und enthält keine Felder.</translation>
    </message>
    <message>
      <source>Line {0} of {1}: there are {2} cells under {3} heads; quote the cell that holds a comma.</source>
      <translation>Zeile {0} von {1}: Es sind {2} Zellen unter {3} Köpfen; setzen Sie die Zelle mit dem Komma in Anführungszeichen.</translation>
    </message>
    <message>
      <source>Line {0}, column {1}: {2}</source>
      <translation>Zeile {0}, Spalte {1}: {2}</translation>
    </message>
    <message>
      <source>Logged in as {0} by {1}.</source>
      <translation>Angemeldet als {0} über {1}.</translation>
    </message>
    <message>
      <source>Logged in as {0}.</source>
      <translation>Angemeldet als {0}.</translation>
    </message>
    <message>
      <source>Logged in at {0}.</source>
      <translation>Angemeldet an {0}.</translation>
    </message>
    <message>
      <source>Login</source>
      <translation>Anmeldung</translation>
    </message>
    <message>
      <source>Look at both lists; the token cannot be named exactly.</source>
      <translation>Sehen Sie beide Listen an; das Token lässt sich nicht genau benennen.</translation>
    </message>
    <message>
      <source>Look at the content; if it is right, save it once more, which stores its hash.</source>
      <translation>Sehen Sie den Inhalt an; stimmt er, speichern Sie ihn noch einmal, das speichert seinen Hash.</translation>
    </message>
    <message>
      <source>Look at the list; its entries cannot be told apart.</source>
      <translation>Sehen Sie die Liste an; ihre Einträge lassen sich nicht unterscheiden.</translation>
    </message>
    <message>
      <source>Look at the versions; the flag can be set once their numbers are right.</source>
      <translation>Sehen Sie die Versionen an; die Kennung lässt sich setzen, sobald ihre Nummern stimmen.</translation>
    </message>
    <message>
      <source>Looking a number up finds either document, or none.</source>
      <translation>Wer eine Nummer nachschlägt, erhält eines der Dokumente oder keines.</translation>
    </message>
    <message>
      <source>Looks at {0} and {1}.</source>
      <translation>Sieht {0} an und {1}.</translation>
    </message>
    <message>
      <source>Lose a race, and keep your edit</source>
      <translation>Überholt, und nichts verloren</translation>
    </message>
    <message>
      <source>MaxKey is written {"$maxKey": 1}.</source>
      <translation>MaxKey schreibt sich {"$maxKey": 1}.</translation>
    </message>
    <message>
      <source>MinKey is written {"$minKey": 1}.</source>
      <translation>MinKey schreibt sich {"$minKey": 1}.</translation>
    </message>
    <message>
      <source>Missing versions are never invented; if no rule of retention took them, look for them in a backup.</source>
      <translation>Fehlende Versionen werden nie erfunden; nahm sie keine Aufbewahrungsregel, suchen Sie sie in einer Sicherung.</translation>
    </message>
    <message>
      <source>Missing versions are never invented; look for them in a backup.</source>
      <translation>Fehlende Versionen werden nie erfunden; suchen Sie sie in einer Sicherung.</translation>
    </message>
    <message>
      <source>Move</source>
      <translation>Verschieben</translation>
    </message>
    <message>
      <source>Move the earlier versions into an archive before the document can no longer be saved.</source>
      <translation>Verschieben Sie die früheren Versionen in ein Archiv, bevor sich das Dokument nicht mehr speichern lässt.</translation>
    </message>
    <message>
      <source>Move them into that collection</source>
      <translation>In diese Sammlung verschieben</translation>
    </message>
    <message>
      <source>N/A: counting takes longer than {0} s.</source>
      <translation>N/A: Das Zählen dauert länger als {0} s.</translation>
    </message>
    <message>
      <source>N/A: the documents are counted after the page.</source>
      <translation>N/A: Die Dokumente werden nach der Seite gezählt.</translation>
    </message>
    <message>
      <source>N/A: the file is not read yet; these come first in it.</source>
      <translation>Nicht bekannt: Die Datei ist noch nicht gelesen; diese stehen in ihr zuerst.</translation>
    </message>
    <message>
      <source>N/A: the histories are still being read.</source>
      <translation>N/A: Die Verläufe werden noch gelesen.</translation>
    </message>
    <message>
      <source>Name</source>
      <translation>Name</translation>
    </message>
    <message>
      <source>Names with dots, with a dollar in front, and empty ones are stored as they are.</source>
      <translation>Namen mit Punkten, mit Dollar am Anfang und leere werden gespeichert, wie sie sind.</translation>
    </message>
    <message>
      <source>Neither version has a field {0}; check how it is written.</source>
      <translation>Keine der Versionen hat ein Feld {0}; prüfen Sie die Schreibweise.</translation>
    </message>
    <message>
      <source>Network</source>
      <translation>Netz</translation>
    </message>
    <message>
      <source>New versions are looked for every two seconds; those that come and go between two looks are missed.</source>
      <translation>Alle zwei Sekunden wird nach neuen Versionen gesehen; die dazwischen kommen und gehen, fehlen.</translation>
    </message>
    <message>
      <source>No collection is stated as stream: name one, or give --profile FILE with layout = "stream".</source>
      <translation>Keine Sammlung ist als stream angegeben: Nennen Sie eine, oder nehmen Sie --profile DATEI mit layout = "stream".</translation>
    </message>
    <message>
      <source>No collection of {0} keeps versions that could be followed.</source>
      <translation>Keine Sammlung von {0} hält Versionen, die verfolgt werden könnten.</translation>
    </message>
    <message>
      <source>No collection {0} can be seen in {1}. {2}</source>
      <translation>In {1} ist keine Sammlung {0} zu sehen. {2}</translation>
    </message>
    <message>
      <source>No current document</source>
      <translation>Kein aktuelles Dokument</translation>
    </message>
    <message>
      <source>No database can be seen: there is none, or this user has no privilege on any.</source>
      <translation>Es ist keine Datenbank zu sehen: es gibt keine, oder dieser Benutzer hat an keiner ein Recht.</translation>
    </message>
    <message>
      <source>No date tells how often a document changes; </source>
      <translation>Kein Datum sagt, wie oft sich ein Dokument ändert; </translation>
    </message>
    <message>
      <source>No document had {0} then.</source>
      <translation>Kein Dokument hatte damals {0}.</translation>
    </message>
    <message>
      <source>No document in {0} has the id {1}; check it and its type.</source>
      <translation>Kein Dokument in {0} hat die Id {1}; prüfen Sie sie und ihren Typ.</translation>
    </message>
    <message>
      <source>No document of {0} has a field {1}, so {2} may not know it, and would leave it out of its rows; add it there.</source>
      <translation>Kein Dokument von {0} hat ein Feld {1}; {2} kennt es also vielleicht nicht und ließe es in seinen Zeilen weg; fügen Sie es dort hinzu.</translation>
    </message>
    <message>
      <source>No document of {0} has {1}, which is stated as current.</source>
      <translation>Kein Dokument von {0} hat {1}, das als current angegeben ist.</translation>
    </message>
    <message>
      <source>No document sampled in {0} has {1}, which is stated as {2}.</source>
      <translation>Kein Dokument der Stichprobe in {0} hat {1}, angegeben als {2}.</translation>
    </message>
    <message>
      <source>No exact copy could be kept first, so nothing was removed. {0}</source>
      <translation>Zuvor ließ sich keine genaue Kopie aufbewahren, also wurde nichts entfernt. {0}</translation>
    </message>
    <message>
      <source>No field is stated for authors (author), and none of them is kept</source>
      <translation>Für Urheber ist kein Feld angegeben (author), und keiner davon wird behalten</translation>
    </message>
    <message>
      <source>No field is stated for reasons (reason), and none of them is kept</source>
      <translation>Für Gründe ist kein Feld angegeben (reason), und keiner davon wird behalten</translation>
    </message>
    <message>
      <source>No field is stated for times (at), and none of them is kept</source>
      <translation>Für Zeiten ist kein Feld angegeben (at), und keine davon wird behalten</translation>
    </message>
    <message>
      <source>No field is stated for times (at), which are kept to the second</source>
      <translation>Für Zeiten ist kein Feld angegeben (at); sie werden auf die Sekunde behalten</translation>
    </message>
    <message>
      <source>No field of the documents sampled tells one version from another.</source>
      <translation>Kein Feld der Stichprobe unterscheidet eine Version von der anderen.</translation>
    </message>
    <message>
      <source>No field of {0} is stated to hold a reason; name it in a profile, as in reason = "why".</source>
      <translation>Für kein Feld von {0} ist angegeben, dass es einen Grund enthält; nennen Sie es in einem Profil, wie in reason = "why".</translation>
    </message>
    <message>
      <source>No index of {0} leads to {1}, so all of it was read; create one on {{2}: 1}.</source>
      <translation>Kein Index von {0} führt zu {1}, daher wurde alles gelesen; legen Sie einen auf {{2}: 1} an.</translation>
    </message>
    <message>
      <source>No number was handed out, and it is not known whether {0} moved. {1} The next one is good.</source>
      <translation>Es wurde keine Nummer ausgegeben, und es ist nicht bekannt, ob {0} weiterrückte. {1} Die nächste ist gut.</translation>
    </message>
    <message>
      <source>No patch can say this edit: {0}. Edit it through {1}.</source>
      <translation>Kein Patch kann diese Bearbeitung ausdrücken: {0}. Bearbeiten Sie es über {1}.</translation>
    </message>
    <message>
      <source>No pending tokens were recognised in {0}; {1}.</source>
      <translation>In {0} wurden keine offenen Token erkannt; {1}.</translation>
    </message>
    <message>
      <source>No saved connection is called {0}.</source>
      <translation>Keine gespeicherte Verbindung heißt {0}.</translation>
    </message>
    <message>
      <source>No server answers at {0}; check the address, and that a server runs there.</source>
      <translation>Unter {0} antwortet kein Server; prüfen Sie die Adresse und ob dort ein Server läuft.</translation>
    </message>
    <message>
      <source>No server that takes writes could be reached; check the connection and try again.</source>
      <translation>Kein Server, der Schreiben annimmt, war erreichbar; prüfen Sie die Verbindung und versuchen Sie es erneut.</translation>
    </message>
    <message>
      <source>No token of it is left to settle.</source>
      <translation>Davon ist kein Token mehr zu klären.</translation>
    </message>
    <message>
      <source>No unique index can be made: {0}</source>
      <translation>Es lässt sich kein eindeutiger Index anlegen: {0}</translation>
    </message>
    <message>
      <source>No version carries the current flag, or several do, or another one than the newest.</source>
      <translation>Keine Version trägt die Kennung der aktuellen, oder mehrere, oder eine andere als die neueste.</translation>
    </message>
    <message>
      <source>No version is flagged as current</source>
      <translation>Keine Version ist als aktuell gekennzeichnet</translation>
    </message>
    <message>
      <source>No {0} in {1} is a number, so there is no last number to continue from; name a counter.</source>
      <translation>Kein {0} in {1} ist eine Zahl, deshalb gibt es keine, von der aus es weitergeht; nennen Sie einen Zähler.</translation>
    </message>
    <message>
      <source>Nobody is logged in: the address names no user.</source>
      <translation>Niemand ist angemeldet: Die Adresse nennt keinen Benutzer.</translation>
    </message>
    <message>
      <source>Nobody sees them unless they look into the archive.</source>
      <translation>Niemand sieht sie, außer beim Blick ins Archiv.</translation>
    </message>
    <message>
      <source>None of it arrived in time, so nothing is known about it.</source>
      <translation>In der Zeit dafür kam nichts davon an, also lässt sich daraus nichts ablesen.</translation>
    </message>
    <message>
      <source>None of the documents sampled can be read.</source>
      <translation>Keines der Dokumente in der Stichprobe lässt sich lesen.</translation>
    </message>
    <message>
      <source>None of the rows sampled in {0} names a document of {1} in {2}, {3} for one.</source>
      <translation>Keine der Zeilen der Stichprobe in {0} nennt in {2} ein Dokument von {1}, zum Beispiel {3}.</translation>
    </message>
    <message>
      <source>None or several current</source>
      <translation>Keine/mehrere aktuelle</translation>
    </message>
    <message>
      <source>Not a Date: clocks in {0} skip that time; choose another or add an offset like +02:00.</source>
      <translation>Kein Datum: Die Uhren in {0} überspringen diese Zeit; wählen Sie eine andere, oder fügen Sie einen Abstand wie +02:00 hinzu.</translation>
    </message>
    <message>
      <source>Not a Date: the time of day goes from 00:00 to 23:59:59.</source>
      <translation>Kein Datum: Die Uhrzeit geht von 00:00 bis 23:59:59.</translation>
    </message>
    <message>
      <source>Not a Date: the year is beyond what BSON can store.</source>
      <translation>Kein Datum: Das Jahr liegt jenseits dessen, was BSON speichern kann.</translation>
    </message>
    <message>
      <source>Not a Date: there is no day {0} in month {1} of {2}.</source>
      <translation>Kein Datum: Es gibt keinen Tag {0} im Monat {1} von {2}.</translation>
    </message>
    <message>
      <source>Not a Date: write it as 2026-11-20 14:26, with seconds and zone if need be.</source>
      <translation>Kein Datum: Schreiben Sie es wie 2026-11-20 14:26, bei Bedarf mit Sekunden und Zone.</translation>
    </message>
    <message>
      <source>Not a Date: {0} is at {1} then, not {2}; write that or an offset like +02:00.</source>
      <translation>Kein Datum: {0} ist dann bei {1}, nicht bei {2}; schreiben Sie das oder einen Abstand wie +02:00.</translation>
    </message>
    <message>
      <source>Not a {0}: leave out the separators between thousands and use a point.</source>
      <translation>Kein {0}: Lassen Sie Tausendertrenner weg und verwenden Sie einen Punkt.</translation>
    </message>
    <message>
      <source>Not a {0}: use a point.</source>
      <translation>Kein {0}: Verwenden Sie einen Punkt.</translation>
    </message>
    <message>
      <source>Not a {0}: {1}.</source>
      <translation>Kein {0}: {1}.</translation>
    </message>
    <message>
      <source>Not an Int{0}: {1} is too large; choose {2}.</source>
      <translation>Kein Int{0}: {1} ist zu groß; wählen Sie {2}.</translation>
    </message>
    <message>
      <source>Not an Int{0}: {1}.</source>
      <translation>Kein Int{0}: {1}.</translation>
    </message>
    <message>
      <source>Not encrypted, on this computer.</source>
      <translation>Nicht verschlüsselt, auf diesem Computer.</translation>
    </message>
    <message>
      <source>Not encrypted: everybody on the way can read and change what is sent. Use TLS where the server has it.</source>
      <translation>Nicht verschlüsselt: Jeder auf dem Weg kann Gesendetes lesen und ändern. Verwenden Sie TLS, wo der Server es kann.</translation>
    </message>
    <message>
      <source>Not known: the process ended before the answer came.</source>
      <translation>Nicht bekannt: Der Prozess endete, bevor die Antwort kam.</translation>
    </message>
    <message>
      <source>Not {0} {1}: {2}.</source>
      <translation>Kein {1}: {2}.</translation>
    </message>
    <message>
      <source>Not {0} {1}: {2}{3}</source>
      <translation>Kein {1}: {2}{3}</translation>
    </message>
    <message>
      <source>Nothing changed.</source>
      <translation>Nichts hat sich geändert.</translation>
    </message>
    <message>
      <source>Nothing in {0} is about {1}; check the id and its type.</source>
      <translation>Nichts in {0} handelt von {1}; prüfen Sie die Id und ihren Typ.</translation>
    </message>
    <message>
      <source>Nothing in {0} is above {1} any more.</source>
      <translation>In {0} steht nichts mehr über {1}.</translation>
    </message>
    <message>
      <source>Nothing is left to do.</source>
      <translation>Es ist nichts mehr zu tun.</translation>
    </message>
    <message>
      <source>Nothing is written while layouts are recognised.</source>
      <translation>Während Layouts erkannt werden, wird nichts geschrieben.</translation>
    </message>
    <message>
      <source>Nothing is wrong for readers; the next edit absorbs it.</source>
      <translation>Für Leser ist nichts falsch; die nächste Bearbeitung nimmt es auf.</translation>
    </message>
    <message>
      <source>Nothing is wrong where the contents are equal; make sure that writers filter by the id too.</source>
      <translation>Bei gleichem Inhalt ist nichts falsch; sorgen Sie dafür, dass Schreiber auch nach der Id filtern.</translation>
    </message>
    <message>
      <source>Nothing of {0} is left to decide; do another dry run.</source>
      <translation>Von {0} ist nichts mehr zu entscheiden; machen Sie den Probelauf noch einmal.</translation>
    </message>
    <message>
      <source>Nothing to change: say --set PATH=EJSON, --unset PATH, --rename A=B or --update UPDATE.</source>
      <translation>Nichts zu ändern: geben Sie --set PATH=EJSON, --unset PATH, --rename A=B oder --update UPDATE an.</translation>
    </message>
    <message>
      <source>Nothing was changed, so nothing was written.</source>
      <translation>Nichts war geändert, also wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Nothing was written, so there is nothing to undo.</source>
      <translation>Es wurde nichts geschrieben, also gibt es nichts rückgängig zu machen.</translation>
    </message>
    <message>
      <source>Nothing would change that shows in the rows of {0} tell apart.</source>
      <translation>Es würde sich nichts ändern, was die Zeilen in {0} unterscheiden.</translation>
    </message>
    <message>
      <source>Numbers are missing below the newest version: removed by a rule of retention, or lost.</source>
      <translation>Unter der neuesten Version fehlen Nummern: durch eine Aufbewahrungsregel entfernt oder verloren.</translation>
    </message>
    <message>
      <source>Numbers are never changed from here; decide which document keeps its number.</source>
      <translation>Nummern werden von hier nie geändert; entscheiden Sie, welches Dokument seine behält.</translation>
    </message>
    <message>
      <source>Numbers by {0} do not keep two writers apart unless a version can be marked, and this collection must gain no field; number by next, or name a token in the profile.</source>
      <translation>Nummern nach {0} halten zwei Schreiber nicht auseinander, wenn sich keine Version markieren lässt, und diese Sammlung darf kein Feld dazubekommen; nummerieren Sie mit next, oder nennen Sie ein Token im Profil.</translation>
    </message>
    <message>
      <source>Odd field names</source>
      <translation>Ungewöhnliche Feldnamen</translation>
    </message>
    <message>
      <source>Of the kind {0}, which holds no documents of its own.</source>
      <translation>Von der Art {0}, die keine eigenen Dokumente enthält.</translation>
    </message>
    <message>
      <source>Old pending tokens</source>
      <translation>Alte offene Token</translation>
    </message>
    <message>
      <source>One above the version that was read, and read and tried again where somebody was faster. There are no gaps, and an edit of some fields meets no conflict; of two that set the same field the later one stays.</source>
      <translation>Eins über der gelesenen Version, und neu gelesen und versucht, wo jemand schneller war. Es gibt keine Lücken, und eine Bearbeitung einiger Felder trifft auf keinen Konflikt; von zweien, die dasselbe Feld setzen, bleibt die spätere.</translation>
    </message>
    <message>
      <source>One above the version that was read; only one writer can have it, and whoever else tried is told of a conflict. There are no gaps, so that a loss shows. The number of a version that is deleted at the top is given again.</source>
      <translation>Eins über der gelesenen Version; nur ein Schreiber kann sie haben, und wer es sonst versuchte, erfährt von einem Konflikt. Es gibt keine Lücken, so dass ein Verlust zu sehen ist. Die Nummer einer Version, die ganz oben gelöscht wird, wird noch einmal vergeben.</translation>
    </message>
    <message>
      <source>One database can be seen: {0}.</source>
      <translation>Eine Datenbank ist sichtbar: {0}.</translation>
    </message>
    <message>
      <source>One insert of the very bytes that the quarantine kept.</source>
      <translation>Eine Einfügung genau der Bytes, die die Quarantäne aufbewahrt hat.</translation>
    </message>
    <message>
      <source>One insert, which the unique index on _id refuses if somebody was faster. The archive is not touched.</source>
      <translation>Eine Einfügung, die der eindeutige Index auf _id abweist, wo jemand schneller war. Das Archiv bleibt unberührt.</translation>
    </message>
    <message>
      <source>One insert; {0} keeps it from being stored twice. Nothing existing is overwritten.</source>
      <translation>Eine Einfügung; {0} verhindert, dass sie doppelt dasteht. Nichts, was da ist, wird überschrieben.</translation>
    </message>
    <message>
      <source>One of its versions is stored twice; repair that first.</source>
      <translation>Eine seiner Versionen ist doppelt gespeichert; reparieren Sie das zuerst.</translation>
    </message>
    <message>
      <source>One update copies {0} to the end of {1} and changes the document. It applies only if {2} is still {3}{4}.</source>
      <translation>Ein Update kopiert {0} ans Ende von {1} und ändert das Dokument. Es gilt nur, wenn {2} noch {3} ist{4}.</translation>
    </message>
    <message>
      <source>One update gives the document the version {0}, if every byte of it is as it was seen. The archive is not touched.</source>
      <translation>Eine Aktualisierung gibt dem Dokument die Version {0}, falls jedes Byte davon wie gesehen ist. Das Archiv bleibt unberührt.</translation>
    </message>
    <message>
      <source>One update moves {0} to the end of {1} and puts the new version in its place. It applies only if {2}.{3} is still {4}{5}.</source>
      <translation>Ein Update schiebt {0} ans Ende von {1} und setzt die neue Version an seine Stelle. Es gilt nur, wenn {2}.{3} noch {4} ist{5}.</translation>
    </message>
    <message>
      <source>One update of the counter, which applies only if every byte of the document is as it was seen.</source>
      <translation>Eine Aktualisierung des Zählers, die nur gilt, falls jedes Byte des Dokuments wie gesehen ist.</translation>
    </message>
    <message>
      <source>One update of the hash, which applies only if the old hash and every byte of the content are as they were seen. The content is not touched.</source>
      <translation>Eine Aktualisierung des Hashes, die nur gilt, falls der alte Hash und jedes Byte des Inhalts wie gesehen sind. Der Inhalt bleibt unberührt.</translation>
    </message>
    <message>
      <source>One update of the list, which applies only if every byte of the document is as it was seen. What was counted from it is left as it is.</source>
      <translation>Eine Aktualisierung der Liste, die nur gilt, falls jedes Byte des Dokuments wie gesehen ist. Was daraus gezählt wurde, bleibt, wie es ist.</translation>
    </message>
    <message>
      <source>One update of the version, which applies only if every byte of the document is as it was seen.</source>
      <translation>Eine Aktualisierung der Version, die nur gilt, falls jedes Byte des Dokuments wie gesehen ist.</translation>
    </message>
    <message>
      <source>One update of {0}, which applies only if every byte of the document, {1} included, is as it was seen. The journal keeps what was there.</source>
      <translation>Eine Aktualisierung von {0}, die nur gilt, falls jedes Byte des Dokuments samt {1} wie gesehen ist. Das Journal bewahrt, was dort stand.</translation>
    </message>
    <message>
      <source>One update with $max, which never lowers a counter, and which applies only if the counter is as it was seen.</source>
      <translation>Eine Aktualisierung mit $max, die einen Zähler nie senkt und nur gilt, falls der Zähler wie gesehen ist.</translation>
    </message>
    <message>
      <source>One update, guarded by the token itself.</source>
      <translation>Eine Aktualisierung, vom Token selbst geschützt.</translation>
    </message>
    <message>
      <source>One write, which applies only if every byte of the document is as it was left.</source>
      <translation>Ein Schreibvorgang, der nur gilt, falls jedes Byte des Dokuments ist, wie es hinterlassen wurde.</translation>
    </message>
    <message>
      <source>Only a dump can be opened into memory; leave --into-memory out for a server.</source>
      <translation>Nur ein Dump lässt sich in den Speicher laden; lassen Sie --into-memory bei einem Server weg.</translation>
    </message>
    <message>
      <source>Only an edit can be undone by a merge; this entry is another kind of write.</source>
      <translation>Nur eine Bearbeitung kann durch Zusammenführen zurückgenommen werden; dieser Eintrag ist ein anderer Schreibvorgang.</translation>
    </message>
    <message>
      <source>Only documents of the sample are changed as a colleague would.</source>
      <translation>Nur Dokumente des Beispiels werden geändert wie von einem Kollegen.</translation>
    </message>
    <message>
      <source>Only the current version can be edited; restore this one to work from it.</source>
      <translation>Nur die aktuelle Version lässt sich bearbeiten; stellen Sie diese wieder her, um von ihr auszugehen.</translation>
    </message>
    <message>
      <source>Only the first documents of {0} have been read; this has to wait for the others.</source>
      <translation>Von {0} sind erst die ersten Dokumente gelesen; das muss auf die übrigen warten.</translation>
    </message>
    <message>
      <source>Only the program that keeps {0} can make the next one of it, so documents of {1} are read-only here; make this change through that program.</source>
      <translation>Nur das Programm, das {0} führt, kann das nächste bilden, daher lassen sich Dokumente von {1} hier nur lesen; machen Sie diese Änderung mit jenem Programm.</translation>
    </message>
    <message>
      <source>Only what differs from {0} is inserted. The unique index on {1} and {2} lets one writer have the next number.</source>
      <translation>Eingefügt wird nur, was von {0} abweicht. Der eindeutige Index auf {1} und {2} gibt einem Schreiber die nächste Nummer.</translation>
    </message>
    <message>
      <source>Only {0} of {1} rounds had a winner that is known{2}</source>
      <translation>Nur in {0} von {1} Runden ist der Gewinner bekannt{2}</translation>
    </message>
    <message>
      <source>OpenID Connect needs a TOKEN_RESOURCE there: the audience that the token is for.</source>
      <translation>OpenID Connect braucht dort eine TOKEN_RESOURCE: für wen das Token bestimmt ist.</translation>
    </message>
    <message>
      <source>OpenID Connect needs the ENVIRONMENT that gives the token: azure, gcp or k8s.</source>
      <translation>OpenID Connect braucht die ENVIRONMENT, die das Token gibt: azure, gcp oder k8s.</translation>
    </message>
    <message>
      <source>Option {0}: {1} here, {2} there.</source>
      <translation>Option {0}: {1} hier, {2} dort.</translation>
    </message>
    <message>
      <source>Others change it all the time; try again.</source>
      <translation>Andere bewegen ihn ständig; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>Others insert into {0} all the time; try again.</source>
      <translation>Andere fügen ständig in {0} ein; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>Others write {0} all the time; try again.</source>
      <translation>Andere schreiben {0} ständig; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>Others wrote {0} meanwhile, so this was tried {1} times.</source>
      <translation>Andere haben {0} inzwischen geschrieben, deshalb wurde dies {1}-mal versucht.</translation>
    </message>
    <message>
      <source>Percent-encode user name and password in the address: @ is %40, : is %3A, / is %2F.</source>
      <translation>Kodieren Sie Benutzername und Passwort in der Adresse mit Prozentzeichen: @ ist %40, : ist %3A, / ist %2F.</translation>
    </message>
    <message>
      <source>Percent-encode user, password and database in the address: @ is %40, : is %3A, / is %2F, ? is %3F.</source>
      <translation>Kodieren Sie Benutzer, Passwort und Datenbank in der Adresse mit Prozentzeichen: @ ist %40, : ist %3A, / ist %2F, ? ist %3F.</translation>
    </message>
    <message>
      <source>Phantom versions</source>
      <translation>Phantomversionen</translation>
    </message>
    <message>
      <source>Phantom v{0} blocks edits</source>
      <translation>Phantom v{0} blockiert</translation>
    </message>
    <message>
      <source>Phantoms v{0}–v{1} block edits</source>
      <translation>Phantome v{0}–v{1} blockieren</translation>
    </message>
    <message>
      <source>Picked by hand.</source>
      <translation>Von Hand gewählt.</translation>
    </message>
    <message>
      <source>PyMongo cannot decode this document, so no Delta fits it ({0}).</source>
      <translation>PyMongo kann dieses Dokument nicht lesen, daher passt kein Delta dazu ({0}).</translation>
    </message>
    <message>
      <source>PyMongo {0}, the driver of this program</source>
      <translation>PyMongo {0}, den Treiber dieses Programms</translation>
    </message>
    <message>
      <source>PyMongo's json_util</source>
      <translation>json_util von PyMongo</translation>
    </message>
    <message>
      <source>Python's, dates by isoformat()</source>
      <translation>wie Python, Daten nach isoformat()</translation>
    </message>
    <message>
      <source>Python's, other values as str()</source>
      <translation>wie Python, andere Werte als str()</translation>
    </message>
    <message>
      <source>Raise</source>
      <translation>Erhöhen</translation>
    </message>
    <message>
      <source>Raise the counter by hand once it is clear which numbers are in use.</source>
      <translation>Erhöhen Sie den Zähler von Hand, sobald klar ist, welche Nummern benutzt sind.</translation>
    </message>
    <message>
      <source>Readers get either of them; writers cannot tell which one they edit.</source>
      <translation>Leser erhalten irgendeines; Schreiber wissen nicht, welches sie bearbeiten.</translation>
    </message>
    <message>
      <source>Readers that ask for the flag get nothing, two documents or an old one.</source>
      <translation>Wer nach der Kennung fragt, erhält nichts, zwei Dokumente oder ein altes.</translation>
    </message>
    <message>
      <source>Reading {0} broke off {1}: {2}</source>
      <translation>Das Lesen von {0} brach {1} ab: {2}</translation>
    </message>
    <message>
      <source>Reads {0}, all there are, because no filter narrows them.</source>
      <translation>Liest alle {0}, da kein Filter sie einengt.</translation>
    </message>
    <message>
      <source>Rebuild</source>
      <translation>Neu bilden</translation>
    </message>
    <message>
      <source>Refused: {0}.</source>
      <translation>Abgelehnt: {0}.</translation>
    </message>
    <message>
      <source>Remove</source>
      <translation>Entfernen</translation>
    </message>
    <message>
      <source>Repair 31 findings</source>
      <translation>31 Befunde reparieren</translation>
    </message>
    <message>
      <source>Residue of a running edit</source>
      <translation>Bearbeitungsrest</translation>
    </message>
    <message>
      <source>Restore</source>
      <translation>Wiederherstellen</translation>
    </message>
    <message>
      <source>Restore one field from v3, then undo it</source>
      <translation>Ein Feld aus v3 wiederherstellen, dann zurücknehmen</translation>
    </message>
    <message>
      <source>Restore the highest version as a document, or leave the archive as the record of what was deleted.</source>
      <translation>Stellen Sie die höchste Version als Dokument wieder her oder lassen Sie das Archiv als Beleg des Gelöschten stehen.</translation>
    </message>
    <message>
      <source>Restore {0} as the next version of a document</source>
      <translation>{0} als nächste Version eines Dokuments wiederherstellen</translation>
    </message>
    <message>
      <source>Retryable writes</source>
      <translation>Wiederholbare Schreibvorgänge</translation>
    </message>
    <message>
      <source>Rights</source>
      <translation>Rechte</translation>
    </message>
    <message>
      <source>Run the check again on a quiet connection.</source>
      <translation>Wiederholen Sie die Prüfung über eine ruhige Verbindung.</translation>
    </message>
    <message>
      <source>Save</source>
      <translation>Speichern</translation>
    </message>
    <message>
      <source>Save a document that someone else has just changed</source>
      <translation>Speichern, was jemand gerade geändert hat</translation>
    </message>
    <message>
      <source>Saved</source>
      <translation>Gespeichert</translation>
    </message>
    <message>
      <source>Say what stays: a number of versions, an age, or one version of each day.</source>
      <translation>Bitte angeben, was bleibt: eine Anzahl von Versionen, ein Alter oder eine Version je Tag.</translation>
    </message>
    <message>
      <source>Scan {0} in {1} is damaged; it is left out.</source>
      <translation>Suchlauf {0} in {1} ist beschädigt; er wird ausgelassen.</translation>
    </message>
    <message>
      <source>Scans {0} and {1}.</source>
      <translation>Durchsucht {0} und {1}.</translation>
    </message>
    <message>
      <source>Scans {0} in the order of the index {1} and {2}.</source>
      <translation>Durchsucht {0} in der Reihenfolge des Index {1} und {2}.</translation>
    </message>
    <message>
      <source>See what would be written before anything is</source>
      <translation>Sehen, was geschrieben würde, bevor es geschieht</translation>
    </message>
    <message>
      <source>See who changed what</source>
      <translation>Sehen, wer was änderte</translation>
    </message>
    <message>
      <source>Set</source>
      <translation>Setzen</translation>
    </message>
    <message>
      <source>Set both clocks by a time server: the ages of tokens and versions depend on them.</source>
      <translation>Stellen Sie beide Uhren nach einem Zeitserver: An ihnen wird das Alter von Token und Versionen abgelesen.</translation>
    </message>
    <message>
      <source>Set the counter with an edit.</source>
      <translation>Sagen Sie durch eine Bearbeitung, was der Zähler ist.</translation>
    </message>
    <message>
      <source>Set the version to its whole number with an edit of your own.</source>
      <translation>Sagen Sie durch eine eigene Bearbeitung, welche ganze Zahl die Version ist.</translation>
    </message>
    <message>
      <source>Several documents for one key</source>
      <translation>Schlüssel mehrfach</translation>
    </message>
    <message>
      <source>Several documents have the same hash, which is legal where their contents are equal.</source>
      <translation>Mehrere Dokumente haben denselben Hash, was bei gleichem Inhalt zulässig ist.</translation>
    </message>
    <message>
      <source>Several ids in {0} are written {1}; say which: {2}.</source>
      <translation>Mehrere Ids in {0} schreiben sich {1}; sagen Sie, welche: {2}.</translation>
    </message>
    <message>
      <source>Several programs keep versions in {0}: of {1} documents sampled {2} are {3}, and {4} are {5}.</source>
      <translation>Mehrere Programme führen Versionen in {0}: Von {1} Dokumenten der Stichprobe sind {2} {3} und {4} {5}.</translation>
    </message>
    <message>
      <source>Shorten</source>
      <translation>Kürzen</translation>
    </message>
    <message>
      <source>So nothing is written there until a profile states its layout.</source>
      <translation>Daher wird dort nichts geschrieben, bis ein Profil das Layout angibt.</translation>
    </message>
    <message>
      <source>Some of several writes were applied.</source>
      <translation>Einige von mehreren Schreibvorgängen sind angekommen.</translation>
    </message>
    <message>
      <source>Somebody created {0} again meanwhile; its versions were put back.</source>
      <translation>Jemand hat {0} inzwischen neu angelegt; seine Versionen wurden zurückgelegt.</translation>
    </message>
    <message>
      <source>Somebody deleted {0} meanwhile, and only a part of it is there; delete it once more.</source>
      <translation>Jemand hat {0} inzwischen gelöscht, und nur ein Teil davon ist da; löschen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>Somebody else has written {0} of {1}; nothing was written.</source>
      <translation>Jemand anderes hat {0} von {1} geschrieben; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Somebody else is saving {0}; nothing was written.</source>
      <translation>Jemand anderes speichert {0} gerade; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Somebody else was faster.</source>
      <translation>Jemand anderes war schneller.</translation>
    </message>
    <message>
      <source>Somebody wrote {0} meanwhile; its versions were put back.</source>
      <translation>Jemand hat {0} inzwischen geschrieben; seine Versionen wurden zurückgelegt.</translation>
    </message>
    <message>
      <source>Somebody wrote {0} meanwhile; {1} versions of it are deleted. {2}</source>
      <translation>Jemand hat {0} inzwischen geschrieben; {1} Versionen davon sind gelöscht. {2}</translation>
    </message>
    <message>
      <source>Soon no edit of it can be saved.</source>
      <translation>Bald lässt sich keine Bearbeitung mehr speichern.</translation>
    </message>
    <message>
      <source>Sound</source>
      <translation>In Ordnung</translation>
    </message>
    <message>
      <source>Stated by hand, and in no profile yet.</source>
      <translation>Von Hand angegeben und noch in keinem Profil.</translation>
    </message>
    <message>
      <source>States of the documents of {0} lie in {1} ({2} of {3} look-ups fit).</source>
      <translation>Zustände der Dokumente von {0} liegen in {1} ({2} von {3} Nachschlagungen passen).</translation>
    </message>
    <message>
      <source>Store it as the whole number {0}</source>
      <translation>Als ganze Zahl {0} speichern</translation>
    </message>
    <message>
      <source>Store them as whole numbers</source>
      <translation>Als ganze Zahlen speichern</translation>
    </message>
    <message>
      <source>Stored hash differs</source>
      <translation>Hash weicht ab</translation>
    </message>
    <message>
      <source>String of {0}</source>
      <translation>Text von {0}</translation>
    </message>
    <message>
      <source>Such fields of a dump or another server cannot be brought here.</source>
      <translation>Solche Felder eines Dumps oder anderen Servers lassen sich nicht hierherbringen.</translation>
    </message>
    <message>
      <source>TLS failed; check tls and tlsCAFile in the address</source>
      <translation>TLS schlug fehl; prüfen Sie tls und tlsCAFile in der Adresse</translation>
    </message>
    <message>
      <source>Take a whole move back with `palimpsest migrate … --take-back --apply`.</source>
      <translation>Nehmen Sie einen ganzen Umzug mit `palimpsest migrate … --take-back --apply` zurück.</translation>
    </message>
    <message>
      <source>Take out</source>
      <translation>Herausnehmen</translation>
    </message>
    <message>
      <source>That is little enough to stand in the document: one write saves both, and one read has all.</source>
      <translation>Das ist wenig genug, um im Dokument zu stehen: Ein Schreibvorgang sichert beides, und ein Lesevorgang hat alles.</translation>
    </message>
    <message>
      <source>That is not sure enough to write by it.</source>
      <translation>Das ist nicht sicher genug, um danach zu schreiben.</translation>
    </message>
    <message>
      <source>The $id of a DBPointer is an ObjectId: {0}.</source>
      <translation>Die $id eines DBPointer ist eine ObjectId: {0}.</translation>
    </message>
    <message>
      <source>The URI names no user for this password; write it as mongodb://user@host.</source>
      <translation>Die Adresse nennt keinen Benutzer zu diesem Passwort; schreiben Sie sie wie mongodb://user@host.</translation>
    </message>
    <message>
      <source>The address gives {0} twice, with two values; remove one of them.</source>
      <translation>Die Adresse gibt {0} zweimal an, mit zwei Werten; nehmen Sie einen davon heraus.</translation>
    </message>
    <message>
      <source>The address has an option that is wrong: {0}; correct or remove it.</source>
      <translation>Die Adresse hat eine falsche Option: {0}; berichtigen oder entfernen Sie sie.</translation>
    </message>
    <message>
      <source>The address has an option with a wrong value: {0}; correct or remove it.</source>
      <translation>Die Adresse hat eine Option mit falschem Wert: {0}; berichtigen oder entfernen Sie sie.</translation>
    </message>
    <message>
      <source>The address names no host; write mongodb://host:27017/.</source>
      <translation>Die Adresse nennt keinen Host; schreiben Sie mongodb://host:27017/.</translation>
    </message>
    <message>
      <source>The answer of {0} could not be read; try again.</source>
      <translation>Die Antwort von {0} konnte nicht gelesen werden; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>The answer was lost, and exactly this content is there now, from this write or an equal one.</source>
      <translation>Die Antwort ging verloren, und genau dieser Inhalt ist jetzt da, durch diesen Schreibvorgang oder einen gleichen.</translation>
    </message>
    <message>
      <source>The archive has no copy of versions below the current one.</source>
      <translation>Das Archiv hat keine Kopie von Versionen unter der aktuellen.</translation>
    </message>
    <message>
      <source>The archive holds a version above the current one. It was written first and its edit never landed.</source>
      <translation>Das Archiv enthält eine Version über der aktuellen. Sie wurde zuerst geschrieben, und ihre Bearbeitung kam nie an.</translation>
    </message>
    <message>
      <source>The archive holds the current version too: an edit archived it and has not landed, or died.</source>
      <translation>Das Archiv enthält auch die aktuelle Version: Eine Bearbeitung archivierte sie und kam noch nicht an oder starb.</translation>
    </message>
    <message>
      <source>The archive holds the current version with another content: the document was edited in place.</source>
      <translation>Das Archiv enthält die aktuelle Version mit anderem Inhalt: Das Dokument wurde an Ort und Stelle bearbeitet.</translation>
    </message>
    <message>
      <source>The archive holds versions of a document that is gone.</source>
      <translation>Das Archiv enthält Versionen eines Dokuments, das es nicht mehr gibt.</translation>
    </message>
    <message>
      <source>The archive that a change stream feeds lacks the current version or earlier ones.</source>
      <translation>Dem Archiv, das ein Change Stream füttert, fehlt die aktuelle Version oder frühere.</translation>
    </message>
    <message>
      <source>The array has {0}, so there is no position {1} to set.</source>
      <translation>Das Array hat {0}, also gibt es keine Position {1} zu setzen.</translation>
    </message>
    <message>
      <source>The authority's file holds no certificate; check tlsCAFile in the address.</source>
      <translation>Die Datei der Zertifizierungsstelle enthält kein Zertifikat; prüfen Sie tlsCAFile in der Adresse.</translation>
    </message>
    <message>
      <source>The bucket has more measurements than a bucket holds.</source>
      <translation>Der Bucket hat mehr Messwerte, als ein Bucket fasst.</translation>
    </message>
    <message>
      <source>The bytes of $binary are base64, padded with = to a multiple of four characters.</source>
      <translation>Die Bytes von $binary sind Base64, mit = auf ein Vielfaches von vier Zeichen aufgefüllt.</translation>
    </message>
    <message>
      <source>The certificate file {0} cannot be read ({1}); check its path and rights.</source>
      <translation>Die Zertifikatsdatei {0} kann nicht gelesen werden ({1}); prüfen Sie Pfad und Rechte.</translation>
    </message>
    <message>
      <source>The check writes into a scratch database. {0}</source>
      <translation>Die Prüfung schreibt in eine Wegwerf-Datenbank. {0}</translation>
    </message>
    <message>
      <source>The client certificate cannot be used: the password of its key is wrong, or the file lacks one of the two.</source>
      <translation>Das Client-Zertifikat kann nicht verwendet werden: Das Passwort seines Schlüssels ist falsch, oder der Datei fehlt eines der beiden.</translation>
    </message>
    <message>
      <source>The clock of whoever writes, in milliseconds, and always later than the version read. It tells when, and not how many: a version that is lost does not show. A clock that is ahead draws all later versions ahead with it.</source>
      <translation>Die Uhr des Schreibenden, in Millisekunden und immer später als die gelesene Version. Sie sagt, wann, und nicht, wie viele: Eine verlorene Version ist nicht zu sehen. Eine Uhr, die vorgeht, zieht alle späteren Versionen mit nach vorn.</translation>
    </message>
    <message>
      <source>The collection has rules for its documents, and this one does not meet them.</source>
      <translation>Die Sammlung hat Regeln für ihre Dokumente, und dieses erfüllt sie nicht.</translation>
    </message>
    <message>
      <source>The collection {0}</source>
      <translation>Die Sammlung {0}</translation>
    </message>
    <message>
      <source>The collection {0} holds the earlier version of {1} looked up</source>
      <translation>Die Sammlung {0} enthält die frühere Version von {1}, die nachgeschlagen wurden</translation>
    </message>
    <message>
      <source>The collection {0} is named as a history of {1}, but holds the earlier version of only {2} looked up.</source>
      <translation>Die Sammlung {0} heißt wie eine Historie von {1}, enthält aber nur von {2}, die nachgeschlagen wurden, die vorige Version.</translation>
    </message>
    <message>
      <source>The collection {0} is named as a history of {1}{2}, but {3}.</source>
      <translation>Die Sammlung {0} heißt wie eine Historie von {1}{2}, aber {3}.</translation>
    </message>
    <message>
      <source>The condition is not understood</source>
      <translation>Die Bedingung wird nicht verstanden</translation>
    </message>
    <message>
      <source>The connection to {0} was lost; try again.</source>
      <translation>Die Verbindung zu {0} ging verloren; versuchen Sie es erneut.</translation>
    </message>
    <message>
      <source>The connection was lost while the write was on its way.</source>
      <translation>Die Verbindung ging verloren, während der Schreibvorgang unterwegs war.</translation>
    </message>
    <message>
      <source>The content cannot be written as JSON: {0}.</source>
      <translation>Der Inhalt lässt sich nicht als JSON schreiben: {0}.</translation>
    </message>
    <message>
      <source>The content has a field {0}, which the new layout keeps for itself; name that otherwise in a profile.</source>
      <translation>Der Inhalt hat ein Feld {0}, das das neue Layout selbst führt; nennen Sie jenes in einem Profil anders.</translation>
    </message>
    <message>
      <source>The content holds the field {0} twice; remove one of them.</source>
      <translation>Der Inhalt enthält das Feld {0} zweimal; nehmen Sie eines heraus.</translation>
    </message>
    <message>
      <source>The content is right: store its hash</source>
      <translation>Der Inhalt stimmt: seinen Hash speichern</translation>
    </message>
    <message>
      <source>The copy of this version that was made first is in {0}; the next edit uses it.</source>
      <translation>Die Kopie dieser Version, die zuerst gemacht wurde, ist in {0}; die nächste Bearbeitung benutzt sie.</translation>
    </message>
    <message>
      <source>The copy of {0} in {1} differs from it now</source>
      <translation>Die Kopie von {0} in {1} weicht jetzt davon ab</translation>
    </message>
    <message>
      <source>The copy of {0} was taken out of {1}; {2}.</source>
      <translation>Die Kopie von {0} wurde aus {1} herausgenommen; {2}.</translation>
    </message>
    <message>
      <source>The counter for this document in {0} is changed by others all the time; try again.</source>
      <translation>Der Zähler für dieses Dokument in {0} wird ständig von anderen bewegt; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>The counter for this document in {0} is not a whole number; mend that first.</source>
      <translation>Der Zähler für dieses Dokument in {0} ist keine ganze Zahl; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>The counter is lower than the highest number that is in use.</source>
      <translation>Der Zähler ist niedriger als die höchste benutzte Nummer.</translation>
    </message>
    <message>
      <source>The counter is missing, null or not a number.</source>
      <translation>Der Zähler fehlt, ist null oder keine Zahl.</translation>
    </message>
    <message>
      <source>The counter is too low by the token's amount.</source>
      <translation>Der Zähler ist um das zu niedrig, wofür das Token steht.</translation>
    </message>
    <message>
      <source>The counter {0} in {1} has handed out the largest number there is.</source>
      <translation>Der Zähler {0} in {1} hat die größte Nummer ausgegeben, die es gibt.</translation>
    </message>
    <message>
      <source>The counter {0} is gone.</source>
      <translation>Der Zähler {0} ist weg.</translation>
    </message>
    <message>
      <source>The counter {0} is not a number; set it with an edit.</source>
      <translation>Der Zähler {0} ist keine Zahl; sagen Sie mit einer Bearbeitung, was er ist.</translation>
    </message>
    <message>
      <source>The counter {0} is not behind any more.</source>
      <translation>Der Zähler {0} liegt nicht mehr zurück.</translation>
    </message>
    <message>
      <source>The current document is read as quickly as now; earlier versions stand in a second collection.</source>
      <translation>Das aktuelle Dokument wird so schnell gelesen wie jetzt; frühere Versionen stehen in einer zweiten Sammlung.</translation>
    </message>
    <message>
      <source>The current version alone makes {0} large; moving the others does not help.</source>
      <translation>Die aktuelle Version allein macht {0} groß; die anderen zu verlagern hilft nicht.</translation>
    </message>
    <message>
      <source>The current version alone makes {0} large; there is nothing to move.</source>
      <translation>Die aktuelle Version allein macht {0} groß; es gibt nichts zu verlagern.</translation>
    </message>
    <message>
      <source>The current version of {0} cannot be archived: {1}.</source>
      <translation>Die aktuelle Version von {0} lässt sich nicht archivieren: {1}.</translation>
    </message>
    <message>
      <source>The current version, {0}, has no fields that can be followed ({1}); compare earlier versions with `palimpsest diff`.</source>
      <translation>Die aktuelle Version, {0}, hat keine Felder, die sich verfolgen lassen ({1}); vergleichen Sie frühere Versionen mit `palimpsest diff`.</translation>
    </message>
    <message>
      <source>The databases may not be listed; {0}.</source>
      <translation>Die Datenbanken dürfen nicht aufgelistet werden; {0}.</translation>
    </message>
    <message>
      <source>The document</source>
      <translation>Das Dokument</translation>
    </message>
    <message>
      <source>The document at byte {0} extends beyond the one around it.</source>
      <translation>Das Dokument bei Byte {0} führt aus dem hinaus, in dem es liegt.</translation>
    </message>
    <message>
      <source>The document at byte {0} is cut off or its length is wrong.</source>
      <translation>Das Dokument bei Byte {0} ist abgeschnitten, oder seine Länge ist falsch.</translation>
    </message>
    <message>
      <source>The document at line {0} of {1} is not Extended JSON: {2}</source>
      <translation>Das Dokument in Zeile {0} von {1} ist kein Extended JSON: {2}</translation>
    </message>
    <message>
      <source>The document does not decode, or would not survive being read and written again.</source>
      <translation>Das Dokument lässt sich nicht dekodieren oder überstünde Lesen und Zurückschreiben nicht.</translation>
    </message>
    <message>
      <source>The document does not decode: {0}.</source>
      <translation>Das Dokument lässt sich nicht lesen: {0}.</translation>
    </message>
    <message>
      <source>The document ends in the middle of a value at byte {0}.</source>
      <translation>Das Dokument endet mitten in einem Wert bei Byte {0}.</translation>
    </message>
    <message>
      <source>The document has changed since, and it is not known whether this write was among the changes.</source>
      <translation>Das Dokument hat sich seitdem geändert, und niemand kann sagen, ob dieser Schreibvorgang darunter war.</translation>
    </message>
    <message>
      <source>The document has two fields of one name, so its fields cannot be followed.</source>
      <translation>Das Dokument hat zwei Felder eines Namens, deshalb kann seinen Feldern nicht gefolgt werden.</translation>
    </message>
    <message>
      <source>The document in the database cannot be read ({0}), so not merged.</source>
      <translation>Das Dokument in der Datenbank kann nicht gelesen werden ({0}), also nicht zusammengeführt.</translation>
    </message>
    <message>
      <source>The document is close to the largest that can be stored. Move its earlier versions into {0}_history (or the archive that a profile names)? The newest few stay; programs that read the array themselves will find the older ones there.</source>
      <translation>Das Dokument ist nahe der größten speicherbaren Größe. Seine früheren Versionen nach {0}_history verschieben (oder in das Archiv, das ein Profil nennt)? Die neuesten bleiben; Programme, die das Array selbst lesen, finden die älteren dort.</translation>
    </message>
    <message>
      <source>The document is gone.</source>
      <translation>Das Dokument ist weg.</translation>
    </message>
    <message>
      <source>The document is too large to be compared whole in one write, so this edit cannot be guarded.</source>
      <translation>Das Dokument ist zu groß, um in einem Schreibvorgang ganz verglichen zu werden, deshalb ist diese Bearbeitung nicht abzusichern.</translation>
    </message>
    <message>
      <source>The document that the writers swap is not there; run the check again.</source>
      <translation>Das Dokument, das die Schreiber tauschen, ist nicht da; wiederholen Sie die Prüfung.</translation>
    </message>
    <message>
      <source>The document with its embedded versions is close to the largest that can be stored.</source>
      <translation>Das Dokument mit seinen eingebetteten Versionen ist nahe der größten speicherbaren Größe.</translation>
    </message>
    <message>
      <source>The document would be larger than the server's limit of 16 MB.</source>
      <translation>Das Dokument würde größer als die Grenze des Servers von 16 MB.</translation>
    </message>
    <message>
      <source>The document would be {0} MB, and a server takes 16 MB at most; make it smaller.</source>
      <translation>Das Dokument hätte {0} MB, und ein Server nimmt höchstens 16 MB; machen Sie es kleiner.</translation>
    </message>
    <message>
      <source>The documents of {0} are versions by {1} and {2} ({3} of {4} look-ups fit).</source>
      <translation>Die Dokumente von {0} sind Versionen nach {1} und {2} ({3} von {4} Abfragen passen).</translation>
    </message>
    <message>
      <source>The documents of {0} are versions by {1} and {2}; {3} of {4} ids have one twice ({5} of {6} look-ups fit).</source>
      <translation>Die Dokumente von {0} sind Versionen nach {1} und {2}; {3} von {4} IDs haben eine doppelt ({5} von {6} Stichproben passen).</translation>
    </message>
    <message>
      <source>The documents use every name that a version could have; name fields with `palimpsest migrate`.</source>
      <translation>Die Dokumente verwenden jeden Namen, den eine Version haben könnte; benennen Sie Felder mit `palimpsest migrate`.</translation>
    </message>
    <message>
      <source>The dump cannot be read ({0}: {1}); report this.</source>
      <translation>Der Dump kann nicht gelesen werden ({0}: {1}); melden Sie das.</translation>
    </message>
    <message>
      <source>The earlier versions are rows of {0}, which belong to its feed and are not removed from here; delete the document, and remove the rows where the feed is run.</source>
      <translation>Die früheren Versionen sind Zeilen von {0}, die zu dessen Fütterung gehören und von hier nicht entfernt werden; löschen Sie das Dokument, und entfernen Sie die Zeilen dort, wo die Fütterung läuft.</translation>
    </message>
    <message>
      <source>The edit that wrote it may still be at work; look again later.</source>
      <translation>Die Bearbeitung, die sie schrieb, läuft vielleicht noch; sehen Sie später erneut nach.</translation>
    </message>
    <message>
      <source>The elements of {0} have the shape of the document itself</source>
      <translation>Die Elemente von {0} haben die Form des Dokuments selbst</translation>
    </message>
    <message>
      <source>The embedded earlier versions are out of order, repeated or incomplete.</source>
      <translation>Die eingebetteten früheren Versionen sind ungeordnet, wiederholt oder unvollständig.</translation>
    </message>
    <message>
      <source>The entry is in the list.</source>
      <translation>Der Eintrag steht in der Liste.</translation>
    </message>
    <message>
      <source>The field name at byte {0} does not end.</source>
      <translation>Der Feldname bei Byte {0} endet nicht.</translation>
    </message>
    <message>
      <source>The field name {0} holds a NUL character; remove it.</source>
      <translation>Der Feldname {0} enthält ein NUL-Zeichen; entfernen Sie es.</translation>
    </message>
    <message>
      <source>The field name {0} holds half a character; retype it.</source>
      <translation>Der Feldname {0} enthält ein halbes Zeichen; tippen Sie ihn neu.</translation>
    </message>
    <message>
      <source>The field {0} is kept by the layout itself, so a content cannot hold it; leave it out.</source>
      <translation>Das Feld {0} führt das Layout selbst, daher kann ein Inhalt es nicht enthalten; lassen Sie es weg.</translation>
    </message>
    <message>
      <source>The field {0} is the hash of the content with its fields in another order than they are stored in</source>
      <translation>Das Feld {0} ist der Hash des Inhalts, dessen Felder dafür anders geordnet sind als gespeichert</translation>
    </message>
    <message>
      <source>The field {0} is the hash of the content{1} in {2} computed</source>
      <translation>Das Feld {0} ist der Hash des Inhalts{1} in {2}, nachgerechnet</translation>
    </message>
    <message>
      <source>The field {0} looks like a hash and is the _id of {1}, but not that of the content as stored</source>
      <translation>Das Feld {0} sieht wie ein Hash aus und ist die _id von {1}, aber nicht der Hash des Inhalts, wie er gespeichert ist</translation>
    </message>
    <message>
      <source>The field {0} looks like a hash, but is not that of the content as it is stored{1}</source>
      <translation>Das Feld {0} sieht wie ein Hash aus, ist aber nicht der des Inhalts, wie er gespeichert ist{1}</translation>
    </message>
    <message>
      <source>The field {0} looks like a version by {1}, but {2}.</source>
      <translation>Das Feld {0} sieht nach {1} wie eine Version aus, aber {2}.</translation>
    </message>
    <message>
      <source>The field {0} looks like a version, but no earlier versions were found here.</source>
      <translation>Das Feld {0} sieht wie eine Version aus, aber frühere Versionen fanden sich hier nicht.</translation>
    </message>
    <message>
      <source>The field {0} numbers rows by {1}, but these record changes or events, not states.</source>
      <translation>Das Feld {0} nummeriert Zeilen nach {1}, aber diese halten Änderungen oder Ereignisse fest und sind keine Zustände.</translation>
    </message>
    <message>
      <source>The fields of the document</source>
      <translation>Die Felder des Dokuments</translation>
    </message>
    <message>
      <source>The fields of {0}</source>
      <translation>Die Felder von {0}</translation>
    </message>
    <message>
      <source>The file begins as UTF-16, but what follows is not UTF-16 ({0}).</source>
      <translation>Die Datei beginnt als UTF-16, und was folgt, ist keines ({0}).</translation>
    </message>
    <message>
      <source>The filter compares {0} by its type: it does not see documents that hold it otherwise ({1}).</source>
      <translation>Der Filter vergleicht {0} nach dem Typ: Dokumente, die es anders speichern, sieht er nicht ({1}).</translation>
    </message>
    <message>
      <source>The folder {0} for journal and drafts cannot be used ({1}); set PALIMPSEST_HOME to a folder that you can write.</source>
      <translation>Der Ordner {0} für Journal und Entwürfe kann nicht verwendet werden ({1}); setzen Sie PALIMPSEST_HOME auf einen Ordner, in den Sie schreiben können.</translation>
    </message>
    <message>
      <source>The hash covers _id, so it is known only once the document has one.</source>
      <translation>Der Hash schließt _id ein und ist daher erst bekannt, wenn das Dokument eine hat.</translation>
    </message>
    <message>
      <source>The hash in {0} of this version is {1}, and {2} is the recipe here, so no hash can take its place; {3}.</source>
      <translation>Der Hash in {0} dieser Version ist {1}, und hier ist {2} das Rezept, daher kann kein Hash an seine Stelle treten; {3}.</translation>
    </message>
    <message>
      <source>The hash is that of the content now.</source>
      <translation>Der Hash ist jetzt der des Inhalts.</translation>
    </message>
    <message>
      <source>The hash {0}.</source>
      <translation>Der Hash {0}.</translation>
    </message>
    <message>
      <source>The hashes were not checked. {0}</source>
      <translation>Die Hashes wurden nicht geprüft. {0}</translation>
    </message>
    <message>
      <source>The highest {0} in {1} is {2}, and no whole number follows that; mend it first.</source>
      <translation>Das höchste {0} in {1} ist {2}, und darauf folgt keine ganze Zahl; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>The histories sampled in {0} are too large to be read together.</source>
      <translation>Die Historien der Stichprobe in {0} sind zu groß, um zusammen gelesen zu werden.</translation>
    </message>
    <message>
      <source>The history ends, or has holes, where the feed did not run.</source>
      <translation>Der Verlauf endet oder hat Löcher, wo die Fütterung nicht lief.</translation>
    </message>
    <message>
      <source>The history leaves out a part of these elements, so which one has changed cannot be told.</source>
      <translation>Die Historie lässt einen Teil dieser Elemente weg, deshalb lässt sich nicht sagen, welches sich geändert hat.</translation>
    </message>
    <message>
      <source>The history shows a content that was replaced without a version of its own.</source>
      <translation>Der Verlauf zeigt einen Inhalt, der ohne eigene Version ersetzt wurde.</translation>
    </message>
    <message>
      <source>The host name in the address has {0} in it; write it as in mongodb://host:27017/.</source>
      <translation>Der Hostname in der Adresse enthält {0}; schreiben Sie ihn wie in mongodb://host:27017/.</translation>
    </message>
    <message>
      <source>The index is there.</source>
      <translation>Der Index ist da.</translation>
    </message>
    <message>
      <source>The index {0}</source>
      <translation>Der Index {0}</translation>
    </message>
    <message>
      <source>The journal has no entry {0}; `palimpsest journal` lists them.</source>
      <translation>Das Journal hat keinen Eintrag {0}; `palimpsest journal` listet sie auf.</translation>
    </message>
    <message>
      <source>The journal has no entry {0}; entries are numbers, `palimpsest journal` lists them.</source>
      <translation>Das Journal hat keinen Eintrag {0}; Einträge sind Zahlen, `palimpsest journal` listet sie auf.</translation>
    </message>
    <message>
      <source>The journal has no run {0}; `palimpsest journal` lists what was written.</source>
      <translation>Das Journal hat keinen Lauf {0}; `palimpsest journal` listet auf, was geschrieben wurde.</translation>
    </message>
    <message>
      <source>The journal {0} was moved away or started again in the meantime.</source>
      <translation>Das Journal {0} wurde inzwischen verschoben oder neu begonnen.</translation>
    </message>
    <message>
      <source>The journal's copy of the document is damaged, so nothing is known of it; the entry cannot be undone.</source>
      <translation>Die Kopie des Dokuments im Journal ist beschädigt, daher ist nichts davon bekannt; der Eintrag lässt sich nicht zurücknehmen.</translation>
    </message>
    <message>
      <source>The journal's entry does not say which token it was; nothing can be put back.</source>
      <translation>Der Eintrag im Journal sagt nicht, welches Token es war; es lässt sich nichts zurücklegen.</translation>
    </message>
    <message>
      <source>The key in {0} is locked; give its password (tlsCertificateKeyFilePassword).</source>
      <translation>Der Schlüssel in {0} ist verschlossen; geben Sie sein Passwort an (tlsCertificateKeyFilePassword).</translation>
    </message>
    <message>
      <source>The key to pair documents by is a field, as in --key number.</source>
      <translation>Der Schlüssel, nach dem Dokumente gepaart werden, ist ein Feld, wie in --key number.</translation>
    </message>
    <message>
      <source>The keyring of this computer cannot be read ({0}); unlock it, or give the password.</source>
      <translation>Der Schlüsselbund dieses Rechners kann nicht gelesen werden ({0}); entsperren Sie ihn, oder geben Sie das Passwort an.</translation>
    </message>
    <message>
      <source>The keyring of this computer does not forget the password ({0}); take the entry {1} out of it by hand.</source>
      <translation>Der Schlüsselbund dieses Rechners vergisst das Passwort nicht ({0}); nehmen Sie den Eintrag {1} von Hand heraus.</translation>
    </message>
    <message>
      <source>The keyring of this computer does not keep the password ({0}); unlock it and connect again, or type the password each time.</source>
      <translation>Der Schlüsselbund dieses Rechners behält das Passwort nicht ({0}); entsperren Sie ihn und verbinden Sie sich neu, oder tippen Sie das Passwort jedes Mal.</translation>
    </message>
    <message>
      <source>The keyring of this computer has not answered for {0} s, so the password may be kept still; take the entry {1} out of it by hand.</source>
      <translation>Der Schlüsselbund dieses Rechners antwortet seit {0} s nicht, sodass das Passwort vielleicht noch darin steht; nehmen Sie den Eintrag {1} von Hand heraus.</translation>
    </message>
    <message>
      <source>The keyring of this computer has not answered for {0} s, so the password may not be kept; unlock it and connect again, or type the password each time.</source>
      <translation>Der Schlüsselbund dieses Rechners antwortet seit {0} s nicht, sodass das Passwort vielleicht nicht behalten wird; entsperren Sie ihn und verbinden Sie sich neu, oder geben Sie das Passwort jedes Mal ein.</translation>
    </message>
    <message>
      <source>The keyring of this computer has not answered for {0} s; unlock it, or give the password.</source>
      <translation>Der Schlüsselbund dieses Rechners antwortet seit {0} s nicht; entsperren Sie ihn, oder geben Sie das Passwort an.</translation>
    </message>
    <message>
      <source>The layout was named.</source>
      <translation>Das Layout wurde genannt.</translation>
    </message>
    <message>
      <source>The length at byte {0} is {1}, which extends beyond the document.</source>
      <translation>Die Länge bei Byte {0} ist {1}, was aus dem Dokument hinausführt.</translation>
    </message>
    <message>
      <source>The line at byte {0} of {1}</source>
      <translation>Die Zeile bei Byte {0} von {1}</translation>
    </message>
    <message>
      <source>The list of processed entries holds an entry more than once.</source>
      <translation>Die Liste verarbeiteter Einträge enthält einen Eintrag mehrfach.</translation>
    </message>
    <message>
      <source>The list of removed paths cannot name {0} without ambiguity; nothing was written.</source>
      <translation>Die Liste der entfernten Pfade kann {0} nicht eindeutig nennen; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>The list {0} holds ids of {1}, so nothing waits in it to be counted.</source>
      <translation>Die Liste {0} enthält Ids von {1}, also wartet darin nichts aufs Zählen.</translation>
    </message>
    <message>
      <source>The list {0} says what was dealt with, without repeats in {1}</source>
      <translation>Die Liste {0} sagt, was erledigt ist, ohne Wiederholung in {1}</translation>
    </message>
    <message>
      <source>The lock {0} cannot be used ({1}); allow writing there.</source>
      <translation>Die Sperre {0} kann nicht verwendet werden ({1}); erlauben Sie dort das Schreiben.</translation>
    </message>
    <message>
      <source>The measurements in unreadable buckets of {0} ({1}) are left out; {2} lists all buckets.</source>
      <translation>Die Messwerte in unlesbaren Buckets von {0} ({1}) fehlen; {2} listet alle Buckets auf.</translation>
    </message>
    <message>
      <source>The metadata of {0} in {1} cannot be read ({2}), so it has no indexes.</source>
      <translation>Die Metadaten von {0} in {1} können nicht gelesen werden ({2}), daher gibt es keine Indexe.</translation>
    </message>
    <message>
      <source>The new version is inserted beside {0}. The unique index on {1} and {2} lets one writer have its number.</source>
      <translation>Die neue Version wird neben {0} eingefügt. Der eindeutige Index auf {1} und {2} gibt einem Schreiber ihre Nummer.</translation>
    </message>
    <message>
      <source>The newest row in {0} is not what this document is; save it once through {1}.</source>
      <translation>Die neueste Zeile in {0} entspricht diesem Dokument nicht; speichern Sie es einmal über {1}.</translation>
    </message>
    <message>
      <source>The next edit of the document absorbs the copy; nothing needs to be done.</source>
      <translation>Die nächste Bearbeitung des Dokuments nimmt die Kopie auf; es ist nichts zu tun.</translation>
    </message>
    <message>
      <source>The next numbers that it hands out are taken already.</source>
      <translation>Die nächsten Nummern, die er ausgibt, sind schon vergeben.</translation>
    </message>
    <message>
      <source>The number in {0} cannot be guarded on this server, as no filter can name its field without ambiguity; nothing was written.</source>
      <translation>Die Nummer in {0} lässt sich auf diesem Server nicht absichern, da kein Filter ihr Feld eindeutig nennen kann; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>The number of a version is a part of its _id, which an edit from here would have to make as the application does; edit with that application.</source>
      <translation>Die Nummer einer Version ist ein Teil ihrer _id, die eine Bearbeitung von hier so bilden müsste, wie die Anwendung es tut; bearbeiten Sie mit dieser Anwendung.</translation>
    </message>
    <message>
      <source>The number of the next version could not be settled; try again.</source>
      <translation>Die Nummer der nächsten Version ließ sich nicht klären; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>The oldest versions of {0} are in {1}, so the document alone is not a history; remove these rows with your own tools first, or delete the document.</source>
      <translation>Die ältesten Versionen von {0} sind in {1}, daher ist das Dokument allein kein Verlauf; entfernen Sie diese Zeilen zuerst mit eigenen Werkzeugen, oder löschen Sie das Dokument.</translation>
    </message>
    <message>
      <source>The options of the address are divided by &amp; and by ; as well; use &amp; alone, and write %3B for a ;.</source>
      <translation>Die Optionen der Adresse sind durch &amp; und auch durch ; getrennt; nehmen Sie nur &amp; und schreiben Sie %3B für ein ;.</translation>
    </message>
    <message>
      <source>The options of the address do not fit together; check what follows the ? in it.</source>
      <translation>Die Optionen der Adresse passen nicht zusammen; prüfen Sie, was darin hinter dem ? steht.</translation>
    </message>
    <message>
      <source>The order of {0} is 1, ascending, or -1, descending; {1} is neither.</source>
      <translation>Die Reihenfolge von {0} ist 1, aufsteigend, oder -1, absteigend; {1} ist keines von beiden.</translation>
    </message>
    <message>
      <source>The other side has all of these versions, and later ones.</source>
      <translation>Die andere Seite hat alle diese Versionen und spätere.</translation>
    </message>
    <message>
      <source>The path {0} is unclear at column {1}: {2}.</source>
      <translation>Der Pfad {0} ist bei Spalte {1} unklar: {2}.</translation>
    </message>
    <message>
      <source>The path {0} names no field; write it as in riders.seen.</source>
      <translation>Der Pfad {0} nennt kein Feld; schreiben Sie ihn wie in riders.seen.</translation>
    </message>
    <message>
      <source>The plan</source>
      <translation>Der Plan</translation>
    </message>
    <message>
      <source>The plan does not say which counter this is about.</source>
      <translation>Der Plan sagt nicht, um welchen Zähler es geht.</translation>
    </message>
    <message>
      <source>The plan does not say which document this is about.</source>
      <translation>Der Plan sagt nicht, um welches Dokument es geht.</translation>
    </message>
    <message>
      <source>The plan does not say which documents it rests on; scan again</source>
      <translation>Der Plan sagt nicht, auf welchen Dokumenten er beruht; prüfen Sie erneut</translation>
    </message>
    <message>
      <source>The plan does not say which version this is about.</source>
      <translation>Der Plan sagt nicht, um welche Version es geht.</translation>
    </message>
    <message>
      <source>The plan has no item {0}; it has {1}.</source>
      <translation>Der Plan hat keinen Posten {0}; er hat {1}.</translation>
    </message>
    <message>
      <source>The plan rests on {0}, which does not belong to {1}; scan again.</source>
      <translation>Der Plan beruht auf {0}, das nicht zu {1} gehört; prüfen Sie erneut.</translation>
    </message>
    <message>
      <source>The plan would be larger than {0} MB, which is more than can be read again: narrow it.</source>
      <translation>Der Plan wäre größer als {0} MB, mehr als wieder gelesen werden kann: grenzen Sie ihn ein.</translation>
    </message>
    <message>
      <source>The plan {0}</source>
      <translation>Der Plan {0}</translation>
    </message>
    <message>
      <source>The plan {0} cannot be read ({1}).</source>
      <translation>Der Plan {0} lässt sich nicht lesen ({1}).</translation>
    </message>
    <message>
      <source>The plan {0} copies from {1}, and this is {2}; make a new one here.</source>
      <translation>Der Plan {0} kopiert aus {1}, und dies ist {2}; erstellen Sie hier einen neuen.</translation>
    </message>
    <message>
      <source>The plan {0} is not JSON{1}.</source>
      <translation>Der Plan {0} ist kein JSON{1}.</translation>
    </message>
    <message>
      <source>The plan {0} is not UTF-8 text; save it as UTF-8.</source>
      <translation>Der Plan {0} ist kein UTF-8-Text; speichern Sie ihn als UTF-8.</translation>
    </message>
    <message>
      <source>The plan {0} is of another form than {1}; scan again to get one of this program.</source>
      <translation>Der Plan {0} hat eine andere Form als {1}; prüfen Sie erneut, um einen von diesem Programm zu erhalten.</translation>
    </message>
    <message>
      <source>The plan {0} was made for {1}, and this is {2}; make a new one here.</source>
      <translation>Der Plan {0} wurde für {1} erstellt, und dies ist {2}; erstellen Sie ihn hier neu.</translation>
    </message>
    <message>
      <source>The plan {0}, item {1}</source>
      <translation>Der Plan {0}, Posten {1}</translation>
    </message>
    <message>
      <source>The plan {0}, not checked {1}</source>
      <translation>Der Plan {0}, nicht geprüft {1}</translation>
    </message>
    <message>
      <source>The port in the address is not a number from 1 to 65535; write it as host:27017.</source>
      <translation>Der Port in der Adresse ist keine Zahl von 1 bis 65535; schreiben Sie ihn wie host:27017.</translation>
    </message>
    <message>
      <source>The profile numbers versions by time, and this document's version is a number; correct either.</source>
      <translation>Das Profil nummeriert Versionen nach der Zeit, und die Version dieses Dokuments ist eine Zahl; berichtigen Sie eines von beiden.</translation>
    </message>
    <message>
      <source>The profile states it.</source>
      <translation>Das Profil gibt es an.</translation>
    </message>
    <message>
      <source>The profile {0} cannot be read: {1}.</source>
      <translation>Das Profil {0} lässt sich nicht lesen: {1}.</translation>
    </message>
    <message>
      <source>The profile {0} is nested too deeply; no key of it needs more than two levels.</source>
      <translation>Das Profil {0} ist zu tief geschachtelt; kein Schlüssel darin braucht mehr als zwei Ebenen.</translation>
    </message>
    <message>
      <source>The profile {0} is not UTF-8 text; save it as UTF-8.</source>
      <translation>Das Profil {0} ist kein UTF-8-Text; speichern Sie es als UTF-8.</translation>
    </message>
    <message>
      <source>The profile {0} is not valid TOML: {1}.</source>
      <translation>Das Profil {0} ist kein gültiges TOML: {1}.</translation>
    </message>
    <message>
      <source>The program ssh cannot be started ({0}).</source>
      <translation>Das Programm ssh kann nicht gestartet werden ({0}).</translation>
    </message>
    <message>
      <source>The program ssh is not installed here; install OpenSSH, or take ssh out of the address.</source>
      <translation>Es gibt hier kein Programm ssh; installieren Sie OpenSSH, oder nehmen Sie ssh aus der Adresse.</translation>
    </message>
    <message>
      <source>The program that writes this history would not know of an edit from here, and its patches would not lead to it; edit with that program.</source>
      <translation>Das Programm, das diesen Verlauf schreibt, wüsste nichts von einer Bearbeitung von hier, und seine Patches führten nicht zu ihr; bearbeiten Sie mit jenem Programm.</translation>
    </message>
    <message>
      <source>The query cannot be sent: {0}.</source>
      <translation>Die Abfrage kann nicht gesendet werden: {0}.</translation>
    </message>
    <message>
      <source>The query of {0} took longer than allowed; ask for less.</source>
      <translation>Die Abfrage von {0} dauerte länger als erlaubt; fragen Sie nach weniger.</translation>
    </message>
    <message>
      <source>The query of {0} took longer than allowed; create the index {1} there, or ask for less.</source>
      <translation>Die Abfrage von {0} dauerte länger als erlaubt; legen Sie dort den Index {1} an, oder fragen Sie nach weniger.</translation>
    </message>
    <message>
      <source>The rows in {0} have {1}, which is not known from here; edit through {2}.</source>
      <translation>Die Zeilen in {0} haben {1}, was von hier aus nicht bekannt ist; bearbeiten Sie über {2}.</translation>
    </message>
    <message>
      <source>The rows of {0} leave out {1}; change it through {2}.</source>
      <translation>Die Zeilen von {0} lassen {1} weg; ändern Sie es durch {2}.</translation>
    </message>
    <message>
      <source>The scratch database {0} could not be dropped; drop it by hand.</source>
      <translation>Die Wegwerf-Datenbank {0} ließ sich nicht löschen; löschen Sie sie von Hand.</translation>
    </message>
    <message>
      <source>The server accepted the login, but does not say who that is.</source>
      <translation>Der Server hat die Anmeldung angenommen und sagt nicht, wer das ist.</translation>
    </message>
    <message>
      <source>The server answered with a document that has no _id; read it again.</source>
      <translation>Der Server hat mit einem Dokument ohne _id geantwortet; lesen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>The server cannot be reached any more; run the plan again once it can.</source>
      <translation>Der Server ist nicht mehr erreichbar; führen Sie den Plan erneut aus, sobald er es ist.</translation>
    </message>
    <message>
      <source>The server cannot tell of a change in one answer, which holds 16 MB at most.</source>
      <translation>Der Server kann eine Änderung nicht in einer Antwort melden, die höchstens 16 MB fasst.</translation>
    </message>
    <message>
      <source>The server closed the query in the meantime; run it again.</source>
      <translation>Der Server hat die Abfrage inzwischen geschlossen; führen Sie sie noch einmal aus.</translation>
    </message>
    <message>
      <source>The server could not confirm the write as safely as the connection asks.</source>
      <translation>Der Server konnte den Schreibvorgang nicht so sicher bestätigen, wie die Verbindung es verlangt.</translation>
    </message>
    <message>
      <source>The server did not answer in time.</source>
      <translation>Der Server antwortete nicht rechtzeitig.</translation>
    </message>
    <message>
      <source>The server did not say how a write ended; try again.</source>
      <translation>Der Server sagte nicht, wie ein Schreibvorgang ausging; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>The server did not take the write; try again.</source>
      <translation>Der Server hat den Schreibvorgang nicht angenommen; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>The server does not accept the query: {0}.</source>
      <translation>Der Server nimmt die Abfrage nicht an: {0}.</translation>
    </message>
    <message>
      <source>The server does not accept this user name and password any more; connect again.</source>
      <translation>Der Server nimmt diesen Benutzernamen mit Passwort nicht mehr an; verbinden Sie sich neu.</translation>
    </message>
    <message>
      <source>The server does not have the memory to sort that much of {0}; ask for less.</source>
      <translation>Dem Server fehlt der Speicher, um so viel von {0} zu sortieren; fragen Sie nach weniger.</translation>
    </message>
    <message>
      <source>The server does not have the memory to sort that much of {0}; create the index {1} there, or ask for less.</source>
      <translation>Dem Server fehlt der Speicher, um so viel von {0} zu sortieren; legen Sie dort den Index {1} an, oder fragen Sie nach weniger.</translation>
    </message>
    <message>
      <source>The server does not recognise a write that it has seen before, as standalone servers do not.</source>
      <translation>Der Server erkennt einen schon gesehenen Schreibvorgang nicht wieder, wie alle Einzelserver.</translation>
    </message>
    <message>
      <source>The server does not say what time it has.</source>
      <translation>Der Server sagt nicht, wie spät es bei ihm ist.</translation>
    </message>
    <message>
      <source>The server gave up on the write without saying how it ended.</source>
      <translation>Der Server hat den Schreibvorgang aufgegeben, ohne zu sagen, wie er ausging.</translation>
    </message>
    <message>
      <source>The server had an internal error and does not say how the write ended.</source>
      <translation>Der Server hatte einen eigenen Fehler und sagt nicht, wie der Schreibvorgang ausging.</translation>
    </message>
    <message>
      <source>The server has no room left; free some, or raise the quota, and try again.</source>
      <translation>Der Server hat keinen Platz mehr; schaffen Sie welchen oder erhöhen Sie das Kontingent und versuchen Sie es erneut.</translation>
    </message>
    <message>
      <source>The server is too busy for this write; try again in a moment.</source>
      <translation>Der Server ist zu beschäftigt für diesen Schreibvorgang; versuchen Sie es gleich noch einmal.</translation>
    </message>
    <message>
      <source>The server leads to {0}, which the address does not name, so the password was not sent there: without verified TLS anybody could answer; name that host in the address too, or use tls=true.</source>
      <translation>Der Server führt zu {0}, was die Adresse nicht nennt, darum wurde das Passwort dort nicht gesendet: Ohne geprüftes TLS könnte jeder antworten; nennen Sie diesen Host auch in der Adresse, oder benutzen Sie tls=true.</translation>
    </message>
    <message>
      <source>The server only answers known users; name a user in the address, or on the page Login of the connection.</source>
      <translation>Der Server antwortet nur denen, die er kennt; nennen Sie einen Benutzer in der Adresse oder auf der Seite Anmeldung der Verbindung.</translation>
    </message>
    <message>
      <source>The server opens one and reports nothing.</source>
      <translation>Der Server öffnet einen und meldet nichts.</translation>
    </message>
    <message>
      <source>The server orders these ids in a way that cannot be followed here; scan this collection whole.</source>
      <translation>Der Server ordnet diese Ids, wie es hier niemand kann; prüfen Sie diese Sammlung im Ganzen.</translation>
    </message>
    <message>
      <source>The server refuses the write: {0}.</source>
      <translation>Der Server lehnt den Schreibvorgang ab: {0}.</translation>
    </message>
    <message>
      <source>The server stepped down or was shut down while the write was on its way.</source>
      <translation>Der Server hat seine Rolle abgegeben oder wurde beendet, während der Schreibvorgang unterwegs war.</translation>
    </message>
    <message>
      <source>The server stored the fields in another order than they were sent in.</source>
      <translation>Der Server hat die Felder in anderer Reihenfolge gespeichert als gesendet.</translation>
    </message>
    <message>
      <source>The server stored {0} differently from what was sent.</source>
      <translation>Der Server hat {0} anders gespeichert als gesendet.</translation>
    </message>
    <message>
      <source>The server tells of a change in a form that cannot be read ({0}).</source>
      <translation>Der Server meldet eine Änderung in einer Form, die nicht zu lesen ist ({0}).</translation>
    </message>
    <message>
      <source>The server tells of a change in {0} ({1}), but not {2}.</source>
      <translation>Der Server meldet eine Änderung in {0} ({1}), aber nicht, {2}.</translation>
    </message>
    <message>
      <source>The server tells of a change in {0} at {1} ({2}), but not {3}; {4}</source>
      <translation>Der Server meldet eine Änderung in {0} um {1} ({2}), aber nicht, {3}; {4}</translation>
    </message>
    <message>
      <source>The server's answer could not be read.</source>
      <translation>Die Antwort des Servers konnte nicht gelesen werden.</translation>
    </message>
    <message>
      <source>The server's clock is within {0} s of this computer's.</source>
      <translation>Die Uhr des Servers weicht weniger als {0} s von der dieses Computers ab.</translation>
    </message>
    <message>
      <source>The server's clock is {0} ahead of this computer's.</source>
      <translation>Die Uhr des Servers geht {0} vor der dieses Computers.</translation>
    </message>
    <message>
      <source>The server's clock is {0} behind this computer's.</source>
      <translation>Die Uhr des Servers geht {0} hinter der dieses Computers.</translation>
    </message>
    <message>
      <source>The server's history does not go back to where the feed stood.</source>
      <translation>Der Verlauf des Servers reicht nicht bis dorthin zurück, wo die Fütterung stand.</translation>
    </message>
    <message>
      <source>The stored hash is not the hash of the content: something wrote past it, or stored another field order.</source>
      <translation>Der gespeicherte Hash ist nicht der des Inhalts: Etwas schrieb an ihm vorbei oder speicherte eine andere Feldreihenfolge.</translation>
    </message>
    <message>
      <source>The stored {0} of {1} differ, and which of them is right is for a person to say.</source>
      <translation>Die gespeicherten {0} von {1} unterscheiden sich; welches richtig ist, muss ein Mensch sagen.</translation>
    </message>
    <message>
      <source>The sub-document {0} has the shape of the elements of {1}</source>
      <translation>Das Unterdokument {0} hat die Form der Elemente von {1}</translation>
    </message>
    <message>
      <source>The sub-document {0} holds {1}, and {2} is an array that is empty in {3}</source>
      <translation>Das Unterdokument {0} enthält {1}, und {2} ist ein Array, leer in {3}</translation>
    </message>
    <message>
      <source>The swap applies only if every field is still exactly as it was read.</source>
      <translation>Der Tausch gilt nur, wenn jedes Feld noch genau so ist, wie es gelesen wurde.</translation>
    </message>
    <message>
      <source>The swap applies only if {0} is still {1}{2}. {3} follows by its own feed.</source>
      <translation>Der Tausch gilt nur, wenn {0} noch {1} ist{2}. {3} folgt durch seine eigene Fütterung.</translation>
    </message>
    <message>
      <source>The swap applies only if {0}{1} and the content are unchanged in this very document; the new hash is written with it.</source>
      <translation>Der Tausch gilt nur, wenn {0}{1} und der Inhalt in genau diesem Dokument unverändert sind; der neue Hash wird mitgeschrieben.</translation>
    </message>
    <message>
      <source>The text holds half a character (a lone surrogate); retype it.</source>
      <translation>Der Text enthält ein halbes Zeichen (ein einzelnes Surrogat); tippen Sie ihn neu.</translation>
    </message>
    <message>
      <source>The text of {0} changed in {1}: {2}.</source>
      <translation>Der Text von {0} hat sich an {1} geändert: {2}.</translation>
    </message>
    <message>
      <source>The token is not pending any more; nothing was written.</source>
      <translation>Das Token ist nicht mehr offen; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>The token is pending again.</source>
      <translation>Das Token ist wieder offen.</translation>
    </message>
    <message>
      <source>The token is taken out and {0} stays, in one write, and only while the token is still pending and not applied: what it stands for will not be counted.</source>
      <translation>Das Token wird herausgenommen und {0} bleibt, in einem Schreibvorgang und nur, solange das Token noch offen und nicht angewendet ist: Wofür es steht, wird nicht gezählt.</translation>
    </message>
    <message>
      <source>The token was counted already and is only taken out, if it is still both pending and applied.</source>
      <translation>Das Token wurde schon gezählt und wird nur herausgenommen, sofern es noch offen und angewendet ist.</translation>
    </message>
    <message>
      <source>The token {0} is a value of type {1}, which no filter finds exactly.</source>
      <translation>Das Token {0} ist ein Wert vom Typ {1}, den kein Filter genau findet.</translation>
    </message>
    <message>
      <source>The token {0}.</source>
      <translation>Das Token {0}.</translation>
    </message>
    <message>
      <source>The unique index {0} holds {1} already; choose another value.</source>
      <translation>Der eindeutige Index {0} enthält {1} schon; wählen Sie einen anderen Wert.</translation>
    </message>
    <message>
      <source>The unique index {0} lets one version of a document have {1}, so no further version can be inserted; drop this index, or change the value.</source>
      <translation>Der eindeutige Index {0} lässt {1} nur eine Version eines Dokuments haben, daher kann keine weitere eingefügt werden; löschen Sie diesen Index, oder ändern Sie den Wert.</translation>
    </message>
    <message>
      <source>The unique index {0} lets only one {1}, and an edit inserts the new version{2}, so no edit can be written here; drop this index.</source>
      <translation>Der eindeutige Index {0} lässt nur eine {1}, und eine Bearbeitung fügt die neue Version{2} ein; daher kann hier keine geschrieben werden; löschen Sie diesen Index.</translation>
    </message>
    <message>
      <source>The value at byte {0} extends beyond its document.</source>
      <translation>Der Wert bei Byte {0} führt aus seinem Dokument hinaus.</translation>
    </message>
    <message>
      <source>The version</source>
      <translation>Die Version</translation>
    </message>
    <message>
      <source>The version after it has an earlier time.</source>
      <translation>Die Version danach hat eine frühere Zeit.</translation>
    </message>
    <message>
      <source>The version is too large to be compared whole in one write.</source>
      <translation>Die Version ist zu groß, um in einem Schreibvorgang ganz verglichen zu werden.</translation>
    </message>
    <message>
      <source>The version of this document is a date beyond the year 9999; mend that first.</source>
      <translation>Die Version dieses Dokuments ist ein Datum nach dem Jahr 9999; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>The version of this document is a {0}, not a whole number; mend that before editing.</source>
      <translation>Die Version dieses Dokuments ist ein {0} und keine ganze Zahl; beheben Sie das vor dem Bearbeiten.</translation>
    </message>
    <message>
      <source>The version of this document is the largest number there is; mend that first.</source>
      <translation>Die Version dieses Dokuments ist die größte Zahl, die es gibt; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>The version of {0} is not a number; settle that first.</source>
      <translation>Die Version von {0} ist keine Zahl; klären Sie das zuerst.</translation>
    </message>
    <message>
      <source>The versions differ, so a person has to decide which is right: compare them, and delete the other by hand.</source>
      <translation>Die Versionen weichen ab, also muss ein Mensch sagen, welche stimmt: Vergleichen Sie sie und löschen Sie die andere von Hand.</translation>
    </message>
    <message>
      <source>The versions of {0} changed while they were being kept; nothing was removed.</source>
      <translation>Die Versionen von {0} änderten sich, während sie aufbewahrt wurden; nichts wurde entfernt.</translation>
    </message>
    <message>
      <source>The versions of {0} were put back. {1}</source>
      <translation>Die Versionen von {0} wurden zurückgelegt. {1}</translation>
    </message>
    <message>
      <source>The watched conditions of {0} {1} are not known: {2}</source>
      <translation>Die überwachten Bedingungen von {0} {1} sind nicht bekannt: {2}</translation>
    </message>
    <message>
      <source>The whole document</source>
      <translation>Das ganze Dokument</translation>
    </message>
    <message>
      <source>The write ended in an unexpected {0}.</source>
      <translation>Der Schreibvorgang endete mit einem unerwarteten {0}.</translation>
    </message>
    <message>
      <source>The write to {0} is not in the database so far, and may still arrive.</source>
      <translation>Der Schreibvorgang an {0} ist bisher nicht in der Datenbank und kann noch ankommen.</translation>
    </message>
    <message>
      <source>The write to {0} is not in the database, and cannot arrive any more: its base is gone.</source>
      <translation>Der Schreibvorgang an {0} ist nicht in der Datenbank und kann nicht mehr ankommen: Seine Grundlage ist fort.</translation>
    </message>
    <message>
      <source>The write to {0} is not in the database: it did not arrive in two minutes.</source>
      <translation>Der Schreibvorgang an {0} ist nicht in der Datenbank: Er ist in zwei Minuten nicht angekommen.</translation>
    </message>
    <message>
      <source>The writers could not be synchronised: the server did not answer in a minute; try again.</source>
      <translation>Die Schreiber verloren einander: Der Server antwortete eine Minute lang nicht; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>There are fewer than the 5 bytes of an empty document at byte {0}.</source>
      <translation>Bei Byte {0} sind weniger als die 5 Byte eines leeren Dokuments.</translation>
    </message>
    <message>
      <source>There are fewer than the 5 bytes of an empty document.</source>
      <translation>Es sind weniger als die 5 Byte eines leeren Dokuments.</translation>
    </message>
    <message>
      <source>There are no change streams. {0}</source>
      <translation>Es gibt keine Change Streams. {0}</translation>
    </message>
    <message>
      <source>There are {0} bytes, and the document ends before the last of them.</source>
      <translation>Es sind {0} Byte, und das Dokument endet vor dem letzten davon.</translation>
    </message>
    <message>
      <source>There have to be the parts 1 to {0}, each once, and there are {1}.</source>
      <translation>Es braucht die Teile 1 bis {0}, jeden einmal, und es sind {1} da.</translation>
    </message>
    <message>
      <source>There is a document {0} again.</source>
      <translation>Es gibt wieder ein Dokument {0}.</translation>
    </message>
    <message>
      <source>There is a document {0} already; choose another id.</source>
      <translation>Ein Dokument {0} gibt es schon; wählen Sie eine andere Id.</translation>
    </message>
    <message>
      <source>There is a value of type {0} among the documents; write each of them as {…}.</source>
      <translation>Unter den Dokumenten ist ein Wert vom Typ {0}; schreiben Sie jedes als {…}.</translation>
    </message>
    <message>
      <source>There is no collection {0} in {1}; `palimpsest collections` lists what is there.</source>
      <translation>In {1} gibt es keine Sammlung {0}; `palimpsest collections` zeigt, was da ist.</translation>
    </message>
    <message>
      <source>There is no collection {0}.</source>
      <translation>Es gibt keine Sammlung {0}.</translation>
    </message>
    <message>
      <source>There is no connection to {0}: {1}.</source>
      <translation>Keine Verbindung zu {0}: {1}.</translation>
    </message>
    <message>
      <source>There is no counter {0} in {1}; create it, or check its name.</source>
      <translation>Es gibt keinen Zähler {0} in {1}; legen Sie ihn an, oder prüfen Sie den Namen.</translation>
    </message>
    <message>
      <source>There is no counter {0}, which the profile states.</source>
      <translation>Es gibt keinen Zähler {0}, den das Profil angibt.</translation>
    </message>
    <message>
      <source>There is no database yet.</source>
      <translation>Es gibt noch keine Datenbank.</translation>
    </message>
    <message>
      <source>There is no database {0} in {1}; check its name.</source>
      <translation>Es gibt keine Datenbank {0} in {1}; prüfen Sie den Namen.</translation>
    </message>
    <message>
      <source>There is no document {0} in {1} any more; refresh the list.</source>
      <translation>Es gibt kein Dokument {0} in {1} mehr; laden Sie die Liste neu.</translation>
    </message>
    <message>
      <source>There is no document {0} in {1}; create it, or check its id.</source>
      <translation>Es gibt kein Dokument {0} in {1}; legen Sie es an, oder prüfen Sie die Id.</translation>
    </message>
    <message>
      <source>There is no document {0} in {1}; create it, or check the key.</source>
      <translation>Es gibt kein Dokument {0} in {1}; legen Sie es an, oder prüfen Sie den Schlüssel.</translation>
    </message>
    <message>
      <source>There is no document {0} in {1}; refresh the list.</source>
      <translation>Es gibt kein Dokument {0} in {1}; laden Sie die Liste neu.</translation>
    </message>
    <message>
      <source>There is no file or folder {0}; check its name.</source>
      <translation>Es gibt keine Datei und keinen Ordner {0}; prüfen Sie den Namen.</translation>
    </message>
    <message>
      <source>There is no file {0}; check its name.</source>
      <translation>Es gibt keine Datei {0}; prüfen Sie den Namen.</translation>
    </message>
    <message>
      <source>There is no host {0}: the name is not known; check its spelling and the network.</source>
      <translation>Es gibt keinen Host {0}: Der Name ist unbekannt; prüfen Sie Schreibweise und Netz.</translation>
    </message>
    <message>
      <source>There is no layout {0}; the layouts are {1}.</source>
      <translation>Es gibt kein Layout {0}; die Layouts sind {1}.</translation>
    </message>
    <message>
      <source>There is no plan {0}; `palimpsest scan SOURCE --plan {1}` writes one.</source>
      <translation>Es gibt keinen Plan {0}; `palimpsest scan SOURCE --plan {1}` schreibt einen.</translation>
    </message>
    <message>
      <source>There is no plan {0}; write it first, without --apply.</source>
      <translation>Es gibt keinen Plan {0}; schreiben Sie ihn zuerst, ohne --apply.</translation>
    </message>
    <message>
      <source>There is no profile {0}; check the path.</source>
      <translation>Es gibt kein Profil {0}; prüfen Sie den Pfad.</translation>
    </message>
    <message>
      <source>There is no repair for it.</source>
      <translation>Dafür gibt es keine Reparatur.</translation>
    </message>
    <message>
      <source>There is no room to sort {0} in {1}; make room there, or dump into a folder instead.</source>
      <translation>Es ist kein Platz, {0} in {1} zu sortieren; schaffen Sie dort Platz, oder schreiben Sie den Dump in einen Ordner.</translation>
    </message>
    <message>
      <source>There is no room to unpack {0} in {1}; make room there, or unpack it elsewhere with gunzip and open the file that comes out.</source>
      <translation>In {1} ist kein Platz, um {0} auszupacken; schaffen Sie dort Platz, oder packen Sie es anderswo mit gunzip aus, und öffnen Sie die Datei, die herauskommt.</translation>
    </message>
    <message>
      <source>There is no socket {0}; check the path, and that a server runs there.</source>
      <translation>Es gibt keinen Socket {0}; prüfen Sie den Pfad und ob dort ein Server läuft.</translation>
    </message>
    <message>
      <source>There is no time zone {0}; choose one like Europe/Berlin or UTC.</source>
      <translation>Es gibt keine Zeitzone {0}; wählen Sie eine wie Europe/Berlin oder UTC.</translation>
    </message>
    <message>
      <source>There is no writer {0}; the writers are {1}.</source>
      <translation>Es gibt keinen Schreiber {0}; die Schreiber sind {1}.</translation>
    </message>
    <message>
      <source>There is no {0} to hold the counter; mend that by an edit.</source>
      <translation>Es gibt kein {0} für den Zähler; beheben Sie das mit einer Bearbeitung.</translation>
    </message>
    <message>
      <source>There may be other collections in {0}: this user lacks the privilege {1}.</source>
      <translation>In {0} kann es weitere Sammlungen geben: diesem Benutzer fehlt das Recht {1}.</translation>
    </message>
    <message>
      <source>There may be other databases: this user lacks the privilege {0}.</source>
      <translation>Es kann weitere Datenbanken geben: diesem Benutzer fehlt das Recht {0}.</translation>
    </message>
    <message>
      <source>There was no connection to send the write over; try again.</source>
      <translation>Es gab keine Verbindung, um den Schreibvorgang zu senden; versuchen Sie es erneut.</translation>
    </message>
    <message>
      <source>These are parts of different scans; join those of one.</source>
      <translation>Das sind Teile verschiedener Prüfungen; fügen Sie die einer einzigen zusammen.</translation>
    </message>
    <message>
      <source>These are records of what happened to other documents, and records are not changed from here.</source>
      <translation>Dies sind Aufzeichnungen dessen, was anderen Dokumenten geschah, und die werden von hier nicht geändert.</translation>
    </message>
    <message>
      <source>These documents are nested too deep for DeepDiff; take another format, such as json.</source>
      <translation>Diese Dokumente sind zu tief geschachtelt für DeepDiff; nehmen Sie ein anderes Format, etwa json.</translation>
    </message>
    <message>
      <source>These documents are nested too deep for rules; compare them exactly.</source>
      <translation>Diese Dokumente sind für Regeln zu tief verschachtelt; vergleichen Sie sie genau.</translation>
    </message>
    <message>
      <source>These versions cannot be shown, compared or restored.</source>
      <translation>Diese Versionen lassen sich nicht zeigen, vergleichen oder wiederherstellen.</translation>
    </message>
    <message>
      <source>These {0} bytes are not a BSON document: their length says otherwise.</source>
      <translation>Diese {0} Byte sind kein BSON-Dokument: Ihre Länge widerspricht.</translation>
    </message>
    <message>
      <source>These {0} bytes are not of type {1}.</source>
      <translation>Diese {0} Byte sind kein {1}.</translation>
    </message>
    <message>
      <source>This cannot be sent: {0}.</source>
      <translation>Das kann nicht gesendet werden: {0}.</translation>
    </message>
    <message>
      <source>This change does not fit the document: an array has too few elements.</source>
      <translation>Diese Änderung passt nicht zum Dokument: Ein Array hat zu wenige Elemente.</translation>
    </message>
    <message>
      <source>This change does not fit the document: {0} is not what it was; compare the two again.</source>
      <translation>Diese Änderung passt nicht zum Dokument: {0} ist nicht mehr, was es war; vergleichen Sie beide neu.</translation>
    </message>
    <message>
      <source>This change would leave no document.</source>
      <translation>Diese Änderung ließe kein Dokument übrig.</translation>
    </message>
    <message>
      <source>This cluster is sharded, and the shard key of {0} cannot be seen, without which no write of one document is safe: let this user read config.collections (the role clusterMonitor does), and try again. Nothing was written.</source>
      <translation>Dieser Cluster ist aufgeteilt, und der Shard-Schlüssel von {0} ist nicht zu sehen; ohne ihn ist kein Schreibvorgang an einem Dokument sicher: Lassen Sie diesen Benutzer config.collections lesen (die Rolle clusterMonitor tut es), und versuchen Sie es erneut. Es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>This computer offers no keyring, so the password is not kept; type it again next time.</source>
      <translation>Dieser Rechner bietet keinen Schlüsselbund, deshalb wird das Passwort nicht behalten; tippen Sie es beim nächsten Mal neu.</translation>
    </message>
    <message>
      <source>This connection is production; confirm the erasure by the collection's name first.</source>
      <translation>Diese Verbindung ist Produktion; bestätigen Sie das Löschen zuerst mit dem Namen der Sammlung.</translation>
    </message>
    <message>
      <source>This connection is production; confirm the repair by its name first.</source>
      <translation>Diese Verbindung ist als Produktion gekennzeichnet; bestätigen Sie die Reparatur zuerst mit ihrem Namen.</translation>
    </message>
    <message>
      <source>This connection is production; confirm the writes by the collection's name first.</source>
      <translation>Diese Verbindung ist als Produktion gekennzeichnet; bestätigen Sie die Schreibvorgänge zuerst mit dem Namen der Sammlung.</translation>
    </message>
    <message>
      <source>This decision belongs to another merge; choose among those of this one.</source>
      <translation>Diese Entscheidung gehört zu einer anderen Zusammenführung; wählen Sie unter denen von dieser.</translation>
    </message>
    <message>
      <source>This document cannot be read, so it can be shown and not written.</source>
      <translation>Dieses Dokument ist nicht lesbar; es kann gezeigt, aber nicht geschrieben werden.</translation>
    </message>
    <message>
      <source>This document {0}, so it can be shown and not written.</source>
      <translation>Dieses Dokument {0}; es kann gezeigt, aber nicht geschrieben werden.</translation>
    </message>
    <message>
      <source>This document {0}: it was changed beside its history, and an edit from here would lose what it is now. Save it once through {1}.</source>
      <translation>Dieses Dokument {0}: Es wurde neben seinem Verlauf geändert, und eine Bearbeitung von hier verlöre seinen jetzigen Stand. Speichern Sie es einmal über {1}.</translation>
    </message>
    <message>
      <source>This filter cannot be used on deltas, which are put together here</source>
      <translation>Dieser Filter lässt sich nicht auf Deltas anwenden, die hier zusammengesetzt werden</translation>
    </message>
    <message>
      <source>This filter cannot be used on states that are put together here</source>
      <translation>Dieser Filter lässt sich nicht auf Stände anwenden, die hier zusammengesetzt werden</translation>
    </message>
    <message>
      <source>This filter has too many alternatives on both the id and other fields; split it.</source>
      <translation>Dieser Filter hat zu viele Alternativen zu Id und anderen Feldern zugleich; teilen Sie ihn.</translation>
    </message>
    <message>
      <source>This is a view, and views cannot be written to; write to the collection behind it.</source>
      <translation>Dies ist eine View, und in Views lässt sich nicht schreiben; schreiben Sie in die Sammlung dahinter.</translation>
    </message>
    <message>
      <source>This is not a MongoDB address; write mongodb://user:password@host:27017/, or mongodb+srv:// for a cluster.</source>
      <translation>Dies ist keine MongoDB-Adresse; schreiben Sie mongodb://user:password@host:27017/, oder mongodb+srv:// für einen Cluster.</translation>
    </message>
    <message>
      <source>This is not a mark of a scan; start again.</source>
      <translation>Das ist keine Marke einer Prüfung; beginnen Sie neu.</translation>
    </message>
    <message>
      <source>This is not complete, or says too much; it is written {0}.</source>
      <translation>Das ist unvollständig oder sagt zu viel; es schreibt sich {0}.</translation>
    </message>
    <message>
      <source>This plan</source>
      <translation>Dieser Plan</translation>
    </message>
    <message>
      <source>This plan differs from what a scan of today proposes in {0} of its {1} ticked items ({2}), so nothing was written: scan again, or confirm that the others are done alone (--confirm-differences).</source>
      <translation>Dieser Plan weicht in {0} seiner {1} angekreuzten Posten von dem ab, was eine Prüfung von heute vorschlägt ({2}); deshalb wurde nichts geschrieben: Prüfen Sie erneut, oder bestätigen Sie, dass nur die anderen getan werden (--confirm-differences).</translation>
    </message>
    <message>
      <source>This server cannot compare the field {0}, so the edit cannot be guarded; nothing was written.</source>
      <translation>Dieser Server kann das Feld {0} nicht vergleichen, deshalb ist die Bearbeitung nicht abzusichern; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>This server cannot count fields, so no replacement or removal can be guarded.</source>
      <translation>Dieser Server kann Felder nicht zählen, deshalb ist weder ein Ersetzen noch ein Entfernen abzusichern.</translation>
    </message>
    <message>
      <source>This server cannot tell a name with a dot in it, such as {0}, from a path, and may damage a document that has one; nothing was written.</source>
      <translation>Dieser Server kann einen Namen mit Punkt wie {0} nicht von einem Pfad unterscheiden und beschädigt vielleicht ein Dokument, das einen hat; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>This server does not count how often its indexes are used ($indexStats).</source>
      <translation>Dieser Server zählt nicht, wie oft seine Indexe benutzt werden ($indexStats).</translation>
    </message>
    <message>
      <source>This server does not explain queries.</source>
      <translation>Dieser Server erklärt keine Abfragen.</translation>
    </message>
    <message>
      <source>This server finds the document changed although it is not: it cannot compare all values exactly, so this edit cannot be guarded; nothing was written.</source>
      <translation>Dieser Server findet das Dokument geändert, obwohl es das nicht ist: Er kann nicht alle Werte genau vergleichen, daher ist diese Bearbeitung nicht abzusichern; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>This server has no change streams.</source>
      <translation>Dieser Server hat keine Change Streams.</translation>
    </message>
    <message>
      <source>This server takes no retryable writes; add retryWrites=false to the address and connect again.</source>
      <translation>Dieser Server nimmt keine wiederholbaren Schreibvorgänge; ergänzen Sie die Adresse um retryWrites=false und verbinden Sie sich neu.</translation>
    </message>
    <message>
      <source>This server takes no values of the type {0}.</source>
      <translation>Dieser Server nimmt keine Werte vom Typ {0} an.</translation>
    </message>
    <message>
      <source>This session is read-only; allow writes to save changes.</source>
      <translation>Diese Sitzung ist schreibgeschützt; erlauben Sie das Schreiben, um Änderungen zu speichern.</translation>
    </message>
    <message>
      <source>This takes a list of pairs of a name and a value: {0}.</source>
      <translation>Das nimmt eine Liste von Paaren aus Name und Wert: {0}.</translation>
    </message>
    <message>
      <source>This user lacks the privilege {0}; ask for it, or use another user.</source>
      <translation>Diesem Benutzer fehlt das Recht {0}; bitten Sie darum, oder nehmen Sie einen anderen Benutzer.</translation>
    </message>
    <message>
      <source>This user may not write here; ask for the readWrite role or use another user.</source>
      <translation>Dieser Benutzer darf hier nicht schreiben; bitten Sie um die Rolle readWrite oder nehmen Sie einen anderen.</translation>
    </message>
    <message>
      <source>This user may only read: no privilege allows insert, update or remove.</source>
      <translation>Dieser Benutzer darf nur lesen: Kein Recht erlaubt insert, update oder remove.</translation>
    </message>
    <message>
      <source>This user may read nothing; ask for the role read.</source>
      <translation>Dieser Benutzer darf nichts lesen; bitten Sie um die Rolle read.</translation>
    </message>
    <message>
      <source>This user reads {0}{1}.</source>
      <translation>Dieser Benutzer liest {0}{1}.</translation>
    </message>
    <message>
      <source>This user sees no database; ask for the role read.</source>
      <translation>Dieser Benutzer sieht keine Datenbank; bitten Sie um die Rolle read.</translation>
    </message>
    <message>
      <source>This version is told from a state that was kept, so it is only shown; read it again to edit it.</source>
      <translation>Diese Version stammt aus einem aufbewahrten Zustand und wird daher nur gezeigt; lesen Sie sie neu, um sie zu bearbeiten.</translation>
    </message>
    <message>
      <source>This way of logging in needs a user; name it in the address.</source>
      <translation>Diese Art der Anmeldung braucht einen Benutzer; nennen Sie ihn in der Adresse.</translation>
    </message>
    <message>
      <source>This way of logging in needs another package; install it by pip install 'palimpsest-inspector[{}]'.</source>
      <translation>Diese Art der Anmeldung braucht ein weiteres Paket; installieren Sie es mit pip install 'palimpsest-inspector[{}]'.</translation>
    </message>
    <message>
      <source>This way of logging in uses no password; remove it from the address.</source>
      <translation>Diese Art der Anmeldung nimmt kein Passwort; lassen Sie es in der Adresse weg.</translation>
    </message>
    <message>
      <source>This write has no entry in the journal, so it cannot be looked for.</source>
      <translation>Dieser Schreibvorgang hat keinen Eintrag im Journal, daher lässt er sich nicht suchen.</translation>
    </message>
    <message>
      <source>Through ssh one server is reached: name it alone, as in mongodb://host:27017/, the primary of a set.</source>
      <translation>Über ssh wird ein Server erreicht: Nennen Sie ihn allein, wie in mongodb://host:27017/, von einem Set den primären.</translation>
    </message>
    <message>
      <source>Times are never changed from here; check the clocks of the writers.</source>
      <translation>Zeiten werden von hier nie geändert; prüfen Sie die Uhren der Schreiber.</translation>
    </message>
    <message>
      <source>Times out of order</source>
      <translation>Zeiten in falscher Folge</translation>
    </message>
    <message>
      <source>To find what was moved fast, create a unique index on {0} and {1} of {2}: db.getCollection({3}).createIndex({{4}: 1, {5}: 1}, {unique: true}).</source>
      <translation>Damit das Verlagerte schnell gefunden wird, legen Sie einen eindeutigen Index auf {0} und {1} von {2} an: db.getCollection({3}).createIndex({{4}: 1, {5}: 1}, {unique: true}).</translation>
    </message>
    <message>
      <source>Today's content is {0} now; the archive keeps its {1}.</source>
      <translation>Der heutige Inhalt ist jetzt {0}; das Archiv behält sein {1}.</translation>
    </message>
    <message>
      <source>Token {0} of {1}</source>
      <translation>Token {0} von {1}</translation>
    </message>
    <message>
      <source>Token {0} of {1} {2}, or is not where it was left; nothing was written.</source>
      <translation>Token {0} von {1} {2} oder ist nicht, wo es gelassen wurde; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>Token {0} of {1} {2}.</source>
      <translation>Token {0} von {1} {2}.</translation>
    </message>
    <message>
      <source>Token {0} of {1} {2}: {3}.</source>
      <translation>Token {0} von {1} {2}: {3}.</translation>
    </message>
    <message>
      <source>Token {0} waits in {1} and is not counted yet; repeat it with this token. {2}</source>
      <translation>Token {0} wartet in {1} und ist noch nicht gezählt; wiederholen Sie es mit diesem Token. {2}</translation>
    </message>
    <message>
      <source>Tokens pending and applied</source>
      <translation>Token doppelt geführt</translation>
    </message>
    <message>
      <source>Tokens wait in the list {0}</source>
      <translation>In der Liste {0} warten Token</translation>
    </message>
    <message>
      <source>Two documents can carry the same id and version here: do not let several writers work on this server.</source>
      <translation>Zwei Dokumente können hier dieselbe Id und Version tragen: Lassen Sie nicht mehrere Schreiber auf diesem Server arbeiten.</translation>
    </message>
    <message>
      <source>Two documents carry the same number, or one carries something that is not a number.</source>
      <translation>Zwei Dokumente tragen dieselbe Nummer, oder eines trägt etwas, das keine ist.</translation>
    </message>
    <message>
      <source>Two stored documents carry the same id and version, as no unique index keeps them apart.</source>
      <translation>Zwei gespeicherte Dokumente tragen dieselbe Id und Version, da kein eindeutiger Index sie trennt.</translation>
    </message>
    <message>
      <source>Types come back exact</source>
      <translation>Typen kommen genau zurück</translation>
    </message>
    <message>
      <source>Undefined is written {"$undefined": true}.</source>
      <translation>Undefined schreibt sich {"$undefined": true}.</translation>
    </message>
    <message>
      <source>Undone: {0} has {1}. {2}</source>
      <translation>Rückgängig gemacht: {0} hat {1}. {2}</translation>
    </message>
    <message>
      <source>Unfinished writes</source>
      <translation>Unfertige Schreibvorgänge</translation>
    </message>
    <message>
      <source>Unique indexes</source>
      <translation>Eindeutige Indexe</translation>
    </message>
    <message>
      <source>Unix socket</source>
      <translation>Unix-Socket</translation>
    </message>
    <message>
      <source>Unreadable documents</source>
      <translation>Unlesbare Dokumente</translation>
    </message>
    <message>
      <source>Uses the index {0}: looks at {1} and {2}.</source>
      <translation>Benutzt den Index {0}: sieht {1} an und {2}.</translation>
    </message>
    <message>
      <source>Values compare exactly</source>
      <translation>Werte vergleichen sich genau</translation>
    </message>
    <message>
      <source>Versions are missing or repeated with other contents; look for them in a backup before anything is changed.</source>
      <translation>Versionen fehlen oder wiederholen sich mit anderem Inhalt; suchen Sie sie in einer Sicherung, bevor etwas geändert wird.</translation>
    </message>
    <message>
      <source>Versions from {0} to {1} UTC are not shown here: the activity of that time has them.</source>
      <translation>Versionen von {0} bis {1} UTC sind hier nicht zu sehen: die Aktivität dieser Zeit zeigt sie.</translation>
    </message>
    <message>
      <source>Versions of a wrong type</source>
      <translation>Falscher Versionstyp</translation>
    </message>
    <message>
      <source>Versions that are dates, or carry them, are equal or run backwards.</source>
      <translation>Versionen, die Zeiten sind oder tragen, sind gleich oder laufen rückwärts.</translation>
    </message>
    <message>
      <source>What answers at {0} is not a MongoDB server; check host and port.</source>
      <translation>Was unter {0} antwortet, ist kein MongoDB-Server; prüfen Sie Host und Port.</translation>
    </message>
    <message>
      <source>What happened since is not known.</source>
      <translation>Was seitdem geschah, lässt sich nicht sagen.</translation>
    </message>
    <message>
      <source>What happened since {0} UTC is not known.</source>
      <translation>Was seit {0} UTC geschah, lässt sich nicht sagen.</translation>
    </message>
    <message>
      <source>What is inserted at {0} is an array of elements; give one.</source>
      <translation>Was bei {0} eingefügt wird, ist ein Array von Elementen; geben Sie eines an.</translation>
    </message>
    <message>
      <source>What is removed is kept in the journal and can be brought back from there.</source>
      <translation>Was verschwindet, bleibt im Journal und lässt sich von dort zurückholen.</translation>
    </message>
    <message>
      <source>What sorts by time shows them in another order than they were written.</source>
      <translation>Was nach Zeit sortiert, zeigt sie in anderer Reihenfolge, als sie geschrieben wurden.</translation>
    </message>
    <message>
      <source>What the counter would be is not known.</source>
      <translation>Es ist nicht bekannt, wie der Zähler stünde.</translation>
    </message>
    <message>
      <source>What the counter {0} counts could not be read: {1}</source>
      <translation>Was der Zähler {0} zählt, ließ sich nicht lesen: {1}</translation>
    </message>
    <message>
      <source>What the counter {0} counts is not certain; state it in a profile (targets).</source>
      <translation>Was der Zähler {0} zählt, ist nicht sicher; geben Sie es in einem Profil an (targets).</translation>
    </message>
    <message>
      <source>What the counter {0} counts is not known; state it in a profile (targets).</source>
      <translation>Was der Zähler {0} zählt, ist nicht bekannt; geben Sie es in einem Profil an (targets).</translation>
    </message>
    <message>
      <source>What was chosen for the whole document is not a document; choose again.</source>
      <translation>Was für das ganze Dokument gewählt wurde, ist kein Dokument; wählen Sie neu.</translation>
    </message>
    <message>
      <source>What was deleted is there again.</source>
      <translation>Das Gelöschte ist wieder da.</translation>
    </message>
    <message>
      <source>What was read cannot be sorted on disk ({0}); make room for temporary files, set TMPDIR to a folder that has it, or create an index on the id.</source>
      <translation>Das Gelesene lässt sich nicht auf der Platte sortieren ({0}); schaffen Sie Platz für temporäre Dateien, setzen Sie TMPDIR auf einen Ordner, der ihn hat, oder legen Sie einen Index auf die Id an.</translation>
    </message>
    <message>
      <source>What {0} says of itself could not be read; check the port, and that a MongoDB server runs there.</source>
      <translation>Was {0} über sich sagt, konnte nicht gelesen werden; prüfen Sie den Port und ob dort ein MongoDB-Server läuft.</translation>
    </message>
    <message>
      <source>Whether entry {0} of the journal was written is not known; settle that first.</source>
      <translation>Ob Eintrag {0} des Journals geschrieben wurde, ist nicht bekannt; klären Sie das zuerst.</translation>
    </message>
    <message>
      <source>Whether this plan has changed {0} is not known.</source>
      <translation>Ob dieser Plan {0} geändert hat, ist nicht bekannt.</translation>
    </message>
    <message>
      <source>Who deleted a document, and when, is not kept</source>
      <translation>Wer ein Dokument wann gelöscht hat, wird nicht behalten</translation>
    </message>
    <message>
      <source>Who writes to {0} is asked once, as its profile says; give your name first: Sign as… in the menu File, or --as NAME.</source>
      <translation>Wer in {0} schreibt, wird einmal gefragt; so sagt es das Profil. Geben Sie zuerst Ihren Namen an: Unterschreiben als… im Menü Datei, oder --as NAME.</translation>
    </message>
    <message>
      <source>With this authMechanism leave authSource out, or write $external.</source>
      <translation>Lassen Sie bei diesem authMechanism authSource weg oder schreiben Sie $external.</translation>
    </message>
    <message>
      <source>Would be archived</source>
      <translation>Würde archiviert</translation>
    </message>
    <message>
      <source>Would be computed again</source>
      <translation>Würde neu berechnet</translation>
    </message>
    <message>
      <source>Would be finished</source>
      <translation>Würde abgeschlossen</translation>
    </message>
    <message>
      <source>Would be listed once</source>
      <translation>Würde einmal gelistet</translation>
    </message>
    <message>
      <source>Would be moved</source>
      <translation>Würde verschoben</translation>
    </message>
    <message>
      <source>Would be put in order</source>
      <translation>Würde geordnet</translation>
    </message>
    <message>
      <source>Would be raised</source>
      <translation>Würde erhöht</translation>
    </message>
    <message>
      <source>Would be removed</source>
      <translation>Würde entfernt</translation>
    </message>
    <message>
      <source>Would be restored</source>
      <translation>Würde wiederhergestellt</translation>
    </message>
    <message>
      <source>Would be set</source>
      <translation>Würde gesetzt</translation>
    </message>
    <message>
      <source>Would be set right</source>
      <translation>Würde richtig gesetzt</translation>
    </message>
    <message>
      <source>Would be taken out</source>
      <translation>Würde herausgenommen</translation>
    </message>
    <message>
      <source>Would become a version of its own</source>
      <translation>Würde eine eigene Version</translation>
    </message>
    <message>
      <source>Would become a whole number</source>
      <translation>Würde zur ganzen Zahl</translation>
    </message>
    <message>
      <source>Write no password into ssh in the address: it takes keys, from an agent or by ~/.ssh/config.</source>
      <translation>Schreiben Sie kein Passwort in ssh in der Adresse: es nimmt Schlüssel, von einem Agenten oder nach ~/.ssh/config.</translation>
    </message>
    <message>
      <source>Write ssh in the address as user@host, or as a name of ~/.ssh/config.</source>
      <translation>Schreiben Sie ssh in der Adresse als user@host oder als einen Namen aus ~/.ssh/config.</translation>
    </message>
    <message>
      <source>Writers that swap on a hash computed from the content never match.</source>
      <translation>Schreiber, die über einen aus dem Inhalt berechneten Hash tauschen, treffen nie.</translation>
    </message>
    <message>
      <source>Written, but not yet confirmed by enough servers: a fail-over may undo it.</source>
      <translation>Geschrieben, aber noch nicht von genügend Servern bestätigt: Ein Ausfall kann es zurücknehmen.</translation>
    </message>
    <message>
      <source>__v is the lock of mongoose: guarded, and raised with every edit.</source>
      <translation>__v ist die Sperre von mongoose: Sie wird geprüft und mit jeder Bearbeitung erhöht.</translation>
    </message>
    <message>
      <source>_etag is the lock of Eve, which alone can make the next one, so documents are read-only here.</source>
      <translation>_etag ist die Sperre von Eve, das allein die nächste bilden kann; daher lassen sich Dokumente hier nur lesen.</translation>
    </message>
    <message>
      <source>_id and the content</source>
      <translation>_id und dem Inhalt</translation>
    </message>
    <message>
      <source>a DBPointer, which comes back as a reference</source>
      <translation>ein DBPointer, der als Verweis zurückkommt</translation>
    </message>
    <message>
      <source>a JSON Patch between the stored documents, with a test before all that it takes away; lock aside</source>
      <translation>ein JSON Patch zwischen den gespeicherten Dokumenten, mit einem Test vor allem, was er wegnimmt; ohne die Sperre</translation>
    </message>
    <message>
      <source>a JSON Patch from the state before to the new one</source>
      <translation>ein JSON Patch vom Stand davor zum neuen</translation>
    </message>
    <message>
      <source>a UUID, an ObjectId or a hash</source>
      <translation>eine UUID, eine ObjectId oder ein Hash</translation>
    </message>
    <message>
      <source>a blank</source>
      <translation>ein Leerzeichen</translation>
    </message>
    <message>
      <source>a change of the list is {0}</source>
      <translation>eine Änderung der Liste ist {0}</translation>
    </message>
    <message>
      <source>a clock ran backwards</source>
      <translation>eine Uhr lief rückwärts</translation>
    </message>
    <message>
      <source>a comma before {0} is not JSON; remove it.</source>
      <translation>ein Komma vor {0} ist kein JSON; entfernen Sie es.</translation>
    </message>
    <message>
      <source>a copy is in {0}</source>
      <translation>eine Kopie ist in {0}</translation>
    </message>
    <message>
      <source>a copy is kept in the quarantine</source>
      <translation>eine Kopie wird in der Quarantäne aufbewahrt</translation>
    </message>
    <message>
      <source>a date is outside of the years 1 to 9999</source>
      <translation>ein Datum liegt außerhalb der Jahre 1 bis 9999</translation>
    </message>
    <message>
      <source>a document cannot have {0} bytes</source>
      <translation>ein Dokument von {0} Bytes ist keines</translation>
    </message>
    <message>
      <source>a document does not end where it says</source>
      <translation>ein Dokument endet nicht, wo es sagt</translation>
    </message>
    <message>
      <source>a document for every version</source>
      <translation>ein Dokument für jede Version</translation>
    </message>
    <message>
      <source>a document for every version, the newest carries a flag</source>
      <translation>ein Dokument für jede Version, die neueste trägt eine Kennung</translation>
    </message>
    <message>
      <source>a document for every version, the newest carries {current}</source>
      <translation>ein Dokument für jede Version, die neueste trägt {current}</translation>
    </message>
    <message>
      <source>a document started again in the middle of its history</source>
      <translation>ein Dokument begann mitten in seinem Verlauf neu</translation>
    </message>
    <message>
      <source>a document without a version</source>
      <translation>ein Dokument ohne Version</translation>
    </message>
    <message>
      <source>a dollar in front</source>
      <translation>ein Dollarzeichen vorn</translation>
    </message>
    <message>
      <source>a field that comes back is placed after all others</source>
      <translation>ein Feld, das wiederkommt, steht hinter allen anderen</translation>
    </message>
    <message>
      <source>a hold names it</source>
      <translation>sie ist zurückgehalten</translation>
    </message>
    <message>
      <source>a key has more than {0} parts</source>
      <translation>ein Schlüssel hat mehr als {0} Teile</translation>
    </message>
    <message>
      <source>a later edition of palimpsest wrote it; import it with that one</source>
      <translation>eine spätere Ausgabe von palimpsest hat es geschrieben; importieren Sie es mit jener</translation>
    </message>
    <message>
      <source>a layout that was stated by hand</source>
      <translation>ein von Hand angegebenes Layout</translation>
    </message>
    <message>
      <source>a line break or control character inside a string; write it as \n, \t or \u00XX.</source>
      <translation>ein Zeilenumbruch oder Steuerzeichen in einer Zeichenkette; schreiben Sie es als \n, \t oder \u00XX.</translation>
    </message>
    <message>
      <source>a list</source>
      <translation>eine Liste</translation>
    </message>
    <message>
      <source>a look before and behind it</source>
      <translation>ein Blick davor und danach</translation>
    </message>
    <message>
      <source>a move has no path or no from</source>
      <translation>einem Verschieben fehlt path oder from</translation>
    </message>
    <message>
      <source>a name is missing between . and [</source>
      <translation>zwischen . und [ fehlt ein Name</translation>
    </message>
    <message>
      <source>a name is missing; an empty one is written ""</source>
      <translation>ein Name fehlt; ein leerer schreibt sich ""</translation>
    </message>
    <message>
      <source>a new counter</source>
      <translation>ein neuer Zähler</translation>
    </message>
    <message>
      <source>a number that can go up by one</source>
      <translation>eine Zahl, die um eins steigen kann</translation>
    </message>
    <message>
      <source>a place in an array or a text is not a number</source>
      <translation>eine Stelle in einem Array oder Text ist keine Zahl</translation>
    </message>
    <message>
      <source>a record of changes to other documents</source>
      <translation>eine Aufzeichnung der Änderungen an anderen Dokumenten</translation>
    </message>
    <message>
      <source>a regular expression cannot hold a NUL character; remove it.</source>
      <translation>ein regulärer Ausdruck kann kein NUL-Zeichen enthalten; entfernen Sie es.</translation>
    </message>
    <message>
      <source>a regular expression takes the flags i, l, m, s, u and x; remove the others.</source>
      <translation>ein regulärer Ausdruck kennt die Kennzeichen i, l, m, s, u und x; entfernen Sie die anderen.</translation>
    </message>
    <message>
      <source>a snapshot of every version in {archive}</source>
      <translation>ein Abbild jeder Version in {archive}</translation>
    </message>
    <message>
      <source>a symbol, which comes back as text</source>
      <translation>ein Symbol, das als Text zurückkommt</translation>
    </message>
    <message>
      <source>a tar archive</source>
      <translation>ein tar-Archiv</translation>
    </message>
    <message>
      <source>a value of the newest row that is there</source>
      <translation>ein Wert der neuesten Zeile, die da ist</translation>
    </message>
    <message>
      <source>a value of the stored document before the edit</source>
      <translation>ein Wert des gespeicherten Dokuments vor der Bearbeitung</translation>
    </message>
    <message>
      <source>a value of the stored document behind it</source>
      <translation>ein Wert des gespeicherten Dokuments danach</translation>
    </message>
    <message>
      <source>a value of type {0} instead of a document</source>
      <translation>ein Wert vom Typ {0} statt eines Dokuments</translation>
    </message>
    <message>
      <source>a version is missing there</source>
      <translation>dort fehlt eine Version</translation>
    </message>
    <message>
      <source>a whole number has no fraction; choose Double or Decimal128</source>
      <translation>eine ganze Zahl hat keinen Bruchteil; wählen Sie Double oder Decimal128</translation>
    </message>
    <message>
      <source>a zip archive</source>
      <translation>ein zip-Archiv</translation>
    </message>
    <message>
      <source>a {0} is not a value of JSON</source>
      <translation>{0} ist kein Wert von JSON</translation>
    </message>
    <message>
      <source>a {0}, as Extended JSON</source>
      <translation>{0} als Extended JSON</translation>
    </message>
    <message>
      <source>above the current version</source>
      <translation>über der aktuellen Version</translation>
    </message>
    <message>
      <source>add a token</source>
      <translation>Token hinzufügen</translation>
    </message>
    <message>
      <source>add token</source>
      <translation>Tokenvermerk</translation>
    </message>
    <message>
      <source>all but one of the {0} stored {1}</source>
      <translation>alle bis auf eines der {0} gespeicherten {1}</translation>
    </message>
    <message>
      <source>all by itself</source>
      <translation>ganz allein</translation>
    </message>
    <message>
      <source>all databases</source>
      <translation>alle Datenbanken</translation>
    </message>
    <message>
      <source>all stored versions, the quarantine, the journal and the draft were read again by the paths, and {0} files of this program by the longer texts</source>
      <translation>alle gespeicherten Versionen, die Quarantäne, das Journal und der Entwurf wurden noch einmal nach den Pfaden gelesen, und {0} Dateien dieses Programms nach den längeren Texten</translation>
    </message>
    <message>
      <source>all {whole} documents</source>
      <translation>allen {whole} Dokumenten</translation>
    </message>
    <message>
      <source>all {whole} ids</source>
      <translation>alle {whole} Ids</translation>
    </message>
    <message>
      <source>also in the archive</source>
      <translation>auch im Archiv</translation>
    </message>
    <message>
      <source>an ObjectId that no other row has</source>
      <translation>eine ObjectId, die keine andere Zeile hat</translation>
    </message>
    <message>
      <source>an archive fed by a change stream</source>
      <translation>ein Archiv, das ein Change Stream füttert</translation>
    </message>
    <message>
      <source>an array of {0}</source>
      <translation>ein Array von {0}</translation>
    </message>
    <message>
      <source>an element leaves {0} at {1}</source>
      <translation>ein Element verlässt {0} an Stelle {1}</translation>
    </message>
    <message>
      <source>an escape that JSON does not know; write a backslash as \\.</source>
      <translation>eine Maskierung, die JSON nicht kennt; schreiben Sie einen Rückstrich als \\.</translation>
    </message>
    <message>
      <source>an index cannot be kept in {0}: {1}; make room there</source>
      <translation>ein Index kann in {0} nicht aufbewahrt werden: {1}; schaffen Sie dort Platz</translation>
    </message>
    <message>
      <source>an index of {0} was lost; open it again</source>
      <translation>ein Index von {0} ging verloren; öffnen Sie es neu</translation>
    </message>
    <message>
      <source>an object of {0} field{1}</source>
      <translation>ein Objekt mit {0} Feldern</translation>
    </message>
    <message>
      <source>an operation at {0} is not known</source>
      <translation>eine Operation bei {0} ist nicht bekannt</translation>
    </message>
    <message>
      <source>an operation has no op</source>
      <translation>eine Operation hat kein op</translation>
    </message>
    <message>
      <source>an operation has no path</source>
      <translation>eine Operation hat keinen Pfad</translation>
    </message>
    <message>
      <source>an operation of the type {0} is not known</source>
      <translation>eine Operation vom Typ {0} ist nicht bekannt</translation>
    </message>
    <message>
      <source>an unknown time</source>
      <translation>eine unbekannte Zeit</translation>
    </message>
    <message>
      <source>and it</source>
      <translation>und sie</translation>
    </message>
    <message>
      <source>and no current one</source>
      <translation>und keine aktuelle</translation>
    </message>
    <message>
      <source>another collection, which cannot be seen</source>
      <translation>eine andere Sammlung, die nicht zu sehen ist</translation>
    </message>
    <message>
      <source>another content</source>
      <translation>einen anderen Inhalt</translation>
    </message>
    <message>
      <source>another process</source>
      <translation>ein anderer Prozess</translation>
    </message>
    <message>
      <source>another program holds it; try again</source>
      <translation>ein anderes Programm hält es; versuchen Sie es noch einmal</translation>
    </message>
    <message>
      <source>another program's lock field</source>
      <translation>das Sperrfeld eines anderen Programms</translation>
    </message>
    <message>
      <source>apply once</source>
      <translation>Einmalverarbeitung</translation>
    </message>
    <message>
      <source>apply-once lists</source>
      <translation>Listen zur Einmalverarbeitung</translation>
    </message>
    <message>
      <source>archive</source>
      <translation>Archiv</translation>
    </message>
    <message>
      <source>archive 1 version behind</source>
      <translation>Archiv 1 Version hinterher</translation>
    </message>
    <message>
      <source>archive behind</source>
      <translation>Archiv hinterher</translation>
    </message>
    <message>
      <source>archive {0} versions behind</source>
      <translation>Archiv {0} Versionen hinterher</translation>
    </message>
    <message>
      <source>archived</source>
      <translation>archiviert</translation>
    </message>
    <message>
      <source>arrays element by element</source>
      <translation>Arrays Element für Element</translation>
    </message>
    <message>
      <source>arrays whose order does not count in comparisons</source>
      <translation>Arrays, deren Reihenfolge in Vergleichen nicht zählt</translation>
    </message>
    <message>
      <source>as documents</source>
      <translation>als Dokumente</translation>
    </message>
    <message>
      <source>as it was</source>
      <translation>wie es war</translation>
    </message>
    <message>
      <source>ask for the role read</source>
      <translation>bitten Sie um die Rolle read</translation>
    </message>
    <message>
      <source>at its beginning</source>
      <translation>an ihrem Anfang</translation>
    </message>
    <message>
      <source>at its root</source>
      <translation>an ihrer Wurzel</translation>
    </message>
    <message>
      <source>at most a copy is in the archive</source>
      <translation>höchstens eine Kopie ist im Archiv</translation>
    </message>
    <message>
      <source>at the top</source>
      <translation>auf der obersten Ebene</translation>
    </message>
    <message>
      <source>authMechanismProperties in the address are NAME:value, divided by commas; no value can hold one.</source>
      <translation>authMechanismProperties in der Adresse sind NAME:Wert, durch Kommas getrennt; kein Wert kann eines enthalten.</translation>
    </message>
    <message>
      <source>behind a tombstone</source>
      <translation>hinter einem Grabstein</translation>
    </message>
    <message>
      <source>beside it</source>
      <translation>daneben</translation>
    </message>
    <message>
      <source>binary of subtype 128</source>
      <translation>Binärdaten vom Untertyp 128</translation>
    </message>
    <message>
      <source>brought up to date</source>
      <translation>auf den Stand gebracht</translation>
    </message>
    <message>
      <source>by time</source>
      <translation>nach der Zeit</translation>
    </message>
    <message>
      <source>byte {0} is not UTF-8.</source>
      <translation>Byte {0} ist kein UTF-8.</translation>
    </message>
    <message>
      <source>cannot be _id</source>
      <translation>kann nicht _id sein</translation>
    </message>
    <message>
      <source>cannot be followed</source>
      <translation>lässt sich nicht verfolgen</translation>
    </message>
    <message>
      <source>cannot be told: its {0}</source>
      <translation>ist nicht zu bestimmen: {0}</translation>
    </message>
    <message>
      <source>cannot go up by one</source>
      <translation>lässt sich nicht um eins erhöhen</translation>
    </message>
    <message>
      <source>cell begins with =, +, - or @, which spreadsheets take for a formula</source>
      <translation>Zelle beginnt mit =, +, - oder @, was Tabellenprogramme für eine Formel halten</translation>
    </message>
    <message>
      <source>cells begin with =, +, - or @, which spreadsheets take for formulas</source>
      <translation>Zellen beginnen mit =, +, - oder @, was Tabellenprogramme für Formeln halten</translation>
    </message>
    <message>
      <source>changed in place later, before the next version</source>
      <translation>später an Ort und Stelle geändert, vor der nächsten Version</translation>
    </message>
    <message>
      <source>changed since ({0} → {1})</source>
      <translation>hat sich seitdem geändert ({0} → {1})</translation>
    </message>
    <message>
      <source>choose another type</source>
      <translation>wählen Sie einen anderen Typ</translation>
    </message>
    <message>
      <source>comes back as other bytes once it is written again</source>
      <translation>kommt mit anderen Bytes zurück, sobald es erneut geschrieben wird</translation>
    </message>
    <message>
      <source>conditions whose turns are told</source>
      <translation>Bedingungen, deren Kippen gemeldet wird</translation>
    </message>
    <message>
      <source>converted</source>
      <translation>umgewandelt</translation>
    </message>
    <message>
      <source>could not be added</source>
      <translation>ließ sich nicht hinzufügen</translation>
    </message>
    <message>
      <source>could not be dropped</source>
      <translation>ließ sich nicht streichen</translation>
    </message>
    <message>
      <source>could not be finished</source>
      <translation>ließ sich nicht abschließen</translation>
    </message>
    <message>
      <source>could not be looked into in time</source>
      <translation>in sie ließ sich nicht rechtzeitig sehen</translation>
    </message>
    <message>
      <source>could not be put back</source>
      <translation>ließ sich nicht zurücklegen</translation>
    </message>
    <message>
      <source>counters changed in two steps, by tokens</source>
      <translation>Zähler, in zwei Schritten über Token geändert</translation>
    </message>
    <message>
      <source>create</source>
      <translation>Anlegen</translation>
    </message>
    <message>
      <source>create index</source>
      <translation>Indexanlage</translation>
    </message>
    <message>
      <source>current {0} is not archived</source>
      <translation>das aktuelle {0} ist nicht archiviert</translation>
    </message>
    <message>
      <source>damaged</source>
      <translation>beschädigt</translation>
    </message>
    <message>
      <source>date after year 9999</source>
      <translation>Datum nach dem Jahr 9999</translation>
    </message>
    <message>
      <source>date before year 1</source>
      <translation>Datum vor dem Jahr 1</translation>
    </message>
    <message>
      <source>dates within {0}</source>
      <translation>Daten im Abstand von {0}</translation>
    </message>
    <message>
      <source>db.getCollection({0}).createIndex({1}, { unique: true })</source>
      <translation>db.getCollection({0}).createIndex({1}, { unique: true })</translation>
    </message>
    <message>
      <source>delete</source>
      <translation>Löschen</translation>
    </message>
    <message>
      <source>deleted {0} UTC as its feed saw</source>
      <translation>gelöscht {0} UTC, wie die Fütterung sah</translation>
    </message>
    <message>
      <source>delta</source>
      <translation>Delta</translation>
    </message>
    <message>
      <source>differs from its newest row</source>
      <translation>weicht von seiner neuesten Zeile ab</translation>
    </message>
    <message>
      <source>do not</source>
      <translation>nicht</translation>
    </message>
    <message>
      <source>do not decode</source>
      <translation>lassen sich nicht lesen</translation>
    </message>
    <message>
      <source>document</source>
      <translation>Dokument</translation>
    </message>
    <message>
      <source>document has another order of fields than the table</source>
      <translation>Dokument hat eine andere Reihenfolge der Felder als die Tabelle</translation>
    </message>
    <message>
      <source>document that matches</source>
      <translation>Dokument passt</translation>
    </message>
    <message>
      <source>document was left out, as this form cannot hold it</source>
      <translation>Dokument wurde ausgelassen, da diese Form es nicht fassen kann</translation>
    </message>
    <message>
      <source>documents expire after {0} s</source>
      <translation>Dokumente verfallen nach {0} s</translation>
    </message>
    <message>
      <source>documents have another order of fields than the table</source>
      <translation>Dokumente haben eine andere Reihenfolge der Felder als die Tabelle</translation>
    </message>
    <message>
      <source>documents that match</source>
      <translation>Dokumente passen</translation>
    </message>
    <message>
      <source>documents were left out, as this form cannot hold them</source>
      <translation>Dokumente wurden ausgelassen, da diese Form sie nicht fassen kann</translation>
    </message>
    <message>
      <source>does not</source>
      <translation>nicht</translation>
    </message>
    <message>
      <source>does not answer in time; check network, firewall</source>
      <translation>antwortet nicht rechtzeitig; prüfen Sie Netz, Firewall</translation>
    </message>
    <message>
      <source>does not decode</source>
      <translation>lässt sich nicht dekodieren</translation>
    </message>
    <message>
      <source>drawn from the counter and never used</source>
      <translation>vom Zähler gezogen und nie benutzt</translation>
    </message>
    <message>
      <source>drop a token</source>
      <translation>Token streichen</translation>
    </message>
    <message>
      <source>drop token</source>
      <translation>Tokenstreichung</translation>
    </message>
    <message>
      <source>dump it again</source>
      <translation>sichern Sie sie neu</translation>
    </message>
    <message>
      <source>each document would get another time; set one time for all with $set</source>
      <translation>jedes Dokument bekäme eine andere Zeit; setzen Sie mit $set eine Zeit für alle</translation>
    </message>
    <message>
      <source>each entry is listed once</source>
      <translation>jeder Eintrag steht einmal da</translation>
    </message>
    <message>
      <source>each is</source>
      <translation>jedes</translation>
    </message>
    <message>
      <source>each version holds only what changed</source>
      <translation>jede Version enthält nur, was sich änderte</translation>
    </message>
    <message>
      <source>earlier versions are taken out of {0}</source>
      <translation>frühere Versionen werden aus {0} genommen</translation>
    </message>
    <message>
      <source>earlier versions in a second collection</source>
      <translation>frühere Versionen in einer zweiten Sammlung</translation>
    </message>
    <message>
      <source>earlier versions in {archive}</source>
      <translation>frühere Versionen in {archive}</translation>
    </message>
    <message>
      <source>earlier versions in {prev}</source>
      <translation>frühere Versionen in {prev}</translation>
    </message>
    <message>
      <source>edit</source>
      <translation>Änderung</translation>
    </message>
    <message>
      <source>edits, deletes and counts that change a stored document</source>
      <translation>Bearbeitungen, Löschungen und Zählungen, die ein gespeichertes Dokument ändern</translation>
    </message>
    <message>
      <source>entries by time for the document in {id}</source>
      <translation>Einträge nach Zeit für das Dokument in {id}</translation>
    </message>
    <message>
      <source>equal content, which is legal</source>
      <translation>gleichen Inhalt, was erlaubt ist</translation>
    </message>
    <message>
      <source>every version</source>
      <translation>jede Version</translation>
    </message>
    <message>
      <source>every version is copied to {archive}</source>
      <translation>jede Version wird nach {archive} kopiert</translation>
    </message>
    <message>
      <source>every write</source>
      <translation>jedes Schreiben</translation>
    </message>
    <message>
      <source>expected . or [</source>
      <translation>erwartet wird . oder [</translation>
    </message>
    <message>
      <source>expected a value</source>
      <translation>erwartet wird ein Wert</translation>
    </message>
    <message>
      <source>fields are erased</source>
      <translation>Felder werden endgültig gelöscht</translation>
    </message>
    <message>
      <source>fields that are not content</source>
      <translation>Felder, die kein Inhalt sind</translation>
    </message>
    <message>
      <source>fields that tell array elements without an _id apart</source>
      <translation>Felder, die Array-Elemente ohne _id unterscheiden</translation>
    </message>
    <message>
      <source>finds {0}</source>
      <translation>findet {0}</translation>
    </message>
    <message>
      <source>finish a token</source>
      <translation>Token abschließen</translation>
    </message>
    <message>
      <source>finished</source>
      <translation>abgeschlossen</translation>
    </message>
    <message>
      <source>for {0} of {1} ids one {2} is in several documents</source>
      <translation>bei {0} von {1} IDs steht dasselbe {2} in mehreren Dokumenten</translation>
    </message>
    <message>
      <source>from where the patches lead</source>
      <translation>von wo die Patches ausgehen</translation>
    </message>
    <message>
      <source>from {0} to {1} in {2}</source>
      <translation>von {0} zu {1} in {2}</translation>
    </message>
    <message>
      <source>git cannot be run ({0}).</source>
      <translation>git lässt sich nicht ausführen ({0}).</translation>
    </message>
    <message>
      <source>git could not do it for {0}: {1}.</source>
      <translation>git konnte es für {0} nicht tun: {1}.</translation>
    </message>
    <message>
      <source>git is not installed, or not found on the PATH; install it, or use a folder or JSON lines.</source>
      <translation>git ist nicht installiert oder nicht im PATH zu finden; installieren Sie es, oder nehmen Sie einen Ordner oder JSON-Zeilen.</translation>
    </message>
    <message>
      <source>half a character (a lone surrogate); retype it.</source>
      <translation>ein halbes Zeichen (ein einzelnes Surrogat); tippen Sie es neu.</translation>
    </message>
    <message>
      <source>half of the numbers or more are missing, as in a cache</source>
      <translation>die Hälfte der Nummern oder mehr fehlt, wie in einem Zwischenspeicher</translation>
    </message>
    <message>
      <source>has "{0}" twice; give each condition its own name</source>
      <translation>hat "{0}" zweimal; geben Sie jeder Bedingung einen eigenen Namen</translation>
    </message>
    <message>
      <source>has a field {0} of its own, in which {1} keeps the document's id</source>
      <translation>hat ein eigenes Feld {0}, in dem {1} die Id des Dokuments führt</translation>
    </message>
    <message>
      <source>has a path that cannot be read: {0}</source>
      <translation>hat einen Pfad, der nicht gelesen werden kann: {0}</translation>
    </message>
    <message>
      <source>has a {0} that falls as time goes on</source>
      <translation>hat ein {0}, das mit der Zeit fällt</translation>
    </message>
    <message>
      <source>has a {0} that falls or repeats in {1}</source>
      <translation>hat ein {0}, das in {1} fällt oder sich wiederholt</translation>
    </message>
    <message>
      <source>has a {0} that is not above all in {1}</source>
      <translation>hat ein {0}, das nicht über allen in {1} liegt</translation>
    </message>
    <message>
      <source>has a {0} there that is far above its own</source>
      <translation>hat dort ein {0} weit über seinem eigenen</translation>
    </message>
    <message>
      <source>has another in its place by now; a copy is kept</source>
      <translation>hat inzwischen ein anderes an seiner Stelle; eine Kopie ist aufbewahrt</translation>
    </message>
    <message>
      <source>has any</source>
      <translation>das welche hat</translation>
    </message>
    <message>
      <source>has its own {0} in {1} rows</source>
      <translation>hat sein eigenes {0} in {1} Zeilen</translation>
    </message>
    <message>
      <source>has little in {0} of what it is made of itself</source>
      <translation>hat in {0} wenig von dem, woraus es selbst besteht</translation>
    </message>
    <message>
      <source>has no document in {0}</source>
      <translation>hat kein Dokument in {0}</translation>
    </message>
    <message>
      <source>has no id</source>
      <translation>hat keine Id</translation>
    </message>
    <message>
      <source>has no key {0}; its keys are {1}</source>
      <translation>hat keinen Schlüssel {0}; die Schlüssel sind {1}</translation>
    </message>
    <message>
      <source>has no version</source>
      <translation>hat keine Version</translation>
    </message>
    <message>
      <source>has no {0}</source>
      <translation>hat kein {0}</translation>
    </message>
    <message>
      <source>has no {0} in {1} of {2} rows</source>
      <translation>hat in {1} von {2} Zeilen kein {0}</translation>
    </message>
    <message>
      <source>has no {0} in {1} of {2} versions</source>
      <translation>hat in {1} von {2} Versionen kein {0}</translation>
    </message>
    <message>
      <source>has none</source>
      <translation>fehlt</translation>
    </message>
    <message>
      <source>has only {0} different {1} in {2} rows</source>
      <translation>hat nur {0} verschiedene {1} in {2} Zeilen</translation>
    </message>
    <message>
      <source>has something that is not a document; mend the line, or take it out</source>
      <translation>enthält etwas, das kein Dokument ist; reparieren Sie die Zeile, oder nehmen Sie sie heraus</translation>
    </message>
    <message>
      <source>has {0} in all of its {1} rows</source>
      <translation>hat {0} in allen seinen {1} Zeilen</translation>
    </message>
    <message>
      <source>has {0} {1} in all of its {2} versions</source>
      <translation>hat {0} {1} in allen seinen {2} Versionen</translation>
    </message>
    <message>
      <source>hash differs</source>
      <translation>Hash weicht ab</translation>
    </message>
    <message>
      <source>hash differs in field order only</source>
      <translation>Hash weicht nur in der Feldreihenfolge ab</translation>
    </message>
    <message>
      <source>hash is a {0}</source>
      <translation>Hash ist ein {0}</translation>
    </message>
    <message>
      <source>hash_recipe says {0}, which {1} holds in {2} documents looked at{3}; correct it, or hash_fields, before anything is written here.</source>
      <translation>hash_recipe besagt {0}, was {1} in {2} angesehenen Dokumenten enthält{3}; berichtigen Sie es oder hash_fields, bevor hier etwas geschrieben wird.</translation>
    </message>
    <message>
      <source>hashes left</source>
      <translation>Hashes, die bleiben</translation>
    </message>
    <message>
      <source>have an array as {0}</source>
      <translation>haben ein Array als {0}</translation>
    </message>
    <message>
      <source>have any</source>
      <translation>die welche haben</translation>
    </message>
    <message>
      <source>have no {0}</source>
      <translation>haben kein {0}</translation>
    </message>
    <message>
      <source>hidden</source>
      <translation>versteckt</translation>
    </message>
    <message>
      <source>holds a date outside of the years 1 to 9999</source>
      <translation>enthält ein Datum außerhalb der Jahre 1 bis 9999</translation>
    </message>
    <message>
      <source>holds a regular expression with odd flags</source>
      <translation>enthält einen regulären Ausdruck mit ungewöhnlichen Optionen</translation>
    </message>
    <message>
      <source>holds no version of the documents looked up</source>
      <translation>sie enthält keine Version der nachgeschlagenen Dokumente</translation>
    </message>
    <message>
      <source>holds text that is not UTF-8</source>
      <translation>enthält Text, der kein UTF-8 ist</translation>
    </message>
    <message>
      <source>holds the field {0} twice</source>
      <translation>enthält das Feld {0} zweimal</translation>
    </message>
    <message>
      <source>how long a writer may still be at work</source>
      <translation>wie lange ein Schreiber noch arbeiten kann</translation>
    </message>
    <message>
      <source>how rows hold states and patches</source>
      <translation>wie Zeilen Zustände und Patches enthalten</translation>
    </message>
    <message>
      <source>how the hash is made</source>
      <translation>wie der Hash gebildet wird</translation>
    </message>
    <message>
      <source>in its middle</source>
      <translation>in ihrer Mitte</translation>
    </message>
    <message>
      <source>in the archive</source>
      <translation>im Archiv</translation>
    </message>
    <message>
      <source>in the document</source>
      <translation>im Dokument</translation>
    </message>
    <message>
      <source>in the history</source>
      <translation>in der Historie</translation>
    </message>
    <message>
      <source>in the order of versions</source>
      <translation>in der Reihenfolge der Versionen</translation>
    </message>
    <message>
      <source>insert</source>
      <translation>Einfügen</translation>
    </message>
    <message>
      <source>inserted the same key {0} times: exactly one got in, every time.</source>
      <translation>fügten denselben Schlüssel {0}-mal ein: Jedes Mal kam genau einer hinein.</translation>
    </message>
    <message>
      <source>is a {0}</source>
      <translation>ist ein {0}</translation>
    </message>
    <message>
      <source>is changing over or shutting down</source>
      <translation>wechselt gerade die Rolle oder wird beendet</translation>
    </message>
    <message>
      <source>is counted</source>
      <translation>ist gezählt</translation>
    </message>
    <message>
      <source>is cut off: document {0}, which begins at byte {1}, is not whole; {2}</source>
      <translation>ist abgeschnitten: Dokument {0}, das bei Byte {1} beginnt, ist nicht ganz; {2}</translation>
    </message>
    <message>
      <source>is cut off: its gzip data end too early; copy it or {0}</source>
      <translation>ist abgeschnitten: Seine gzip-Daten enden zu früh; kopieren Sie es neu, oder {0}</translation>
    </message>
    <message>
      <source>is damaged: document {0}, at byte {1}, is not a BSON document; {2}</source>
      <translation>ist beschädigt: Dokument {0} bei Byte {1} ist kein BSON-Dokument; {2}</translation>
    </message>
    <message>
      <source>is damaged: its gzip data make no sense ({0}); copy it or {1}</source>
      <translation>ist beschädigt: Seine gzip-Daten ergeben keinen Sinn ({0}); kopieren Sie es neu, oder {1}</translation>
    </message>
    <message>
      <source>is empty</source>
      <translation>sie ist leer</translation>
    </message>
    <message>
      <source>is gone</source>
      <translation>ist weg</translation>
    </message>
    <message>
      <source>is missing</source>
      <translation>fehlt</translation>
    </message>
    <message>
      <source>is nested too deeply</source>
      <translation>ist zu tief geschachtelt</translation>
    </message>
    <message>
      <source>is not TOML: {0}</source>
      <translation>ist kein TOML: {0}</translation>
    </message>
    <message>
      <source>is not a UUID, ObjectId or hash</source>
      <translation>ist weder UUID noch ObjectId noch Hash</translation>
    </message>
    <message>
      <source>is not a key</source>
      <translation>ist kein Schlüssel</translation>
    </message>
    <message>
      <source>is pending</source>
      <translation>ist offen</translation>
    </message>
    <message>
      <source>is pending again already</source>
      <translation>ist schon wieder offen</translation>
    </message>
    <message>
      <source>is pending or was counted already</source>
      <translation>ist offen oder war schon gezählt</translation>
    </message>
    <message>
      <source>is too busy</source>
      <translation>ist zu beschäftigt</translation>
    </message>
    <message>
      <source>is too long: {0}</source>
      <translation>ist zu lang: {0}</translation>
    </message>
    <message>
      <source>is {0} or null</source>
      <translation>ist {0} oder null</translation>
    </message>
    <message>
      <source>it becomes {0}</source>
      <translation>es wird zu {0}</translation>
    </message>
    <message>
      <source>it belongs to the history, as the document has moved on since it was taken out</source>
      <translation>es gehört zur Historie, denn das Dokument ist weitergegangen, seit es herausgenommen wurde</translation>
    </message>
    <message>
      <source>it created the document</source>
      <translation>sie legte das Dokument an</translation>
    </message>
    <message>
      <source>it deleted the document, and restoring an earlier version brings that back</source>
      <translation>sie löschte das Dokument, und eine frühere Version wiederherzustellen bringt es zurück</translation>
    </message>
    <message>
      <source>it does not answer over TLS in time; check the port</source>
      <translation>er antwortet über TLS nicht rechtzeitig; prüfen Sie den Port</translation>
    </message>
    <message>
      <source>it does not come back</source>
      <translation>es kommt nicht zurück</translation>
    </message>
    <message>
      <source>it does not speak TLS there; check the port, or take TLS out</source>
      <translation>er spricht dort kein TLS; prüfen Sie den Port, oder nehmen Sie TLS heraus</translation>
    </message>
    <message>
      <source>it does not take the client certificate</source>
      <translation>er nimmt das Client-Zertifikat nicht an</translation>
    </message>
    <message>
      <source>it ended without a word</source>
      <translation>es endete ohne ein Wort</translation>
    </message>
    <message>
      <source>it ends TLS in the middle; it may not speak TLS, or want a client certificate</source>
      <translation>er beendet TLS mittendrin; vielleicht spricht er kein TLS oder verlangt ein Client-Zertifikat</translation>
    </message>
    <message>
      <source>it ends inside a document</source>
      <translation>es endet in einem Dokument</translation>
    </message>
    <message>
      <source>it ends too early</source>
      <translation>es endet zu früh</translation>
    </message>
    <message>
      <source>it has been changed since the export</source>
      <translation>seit dem Export wurde es geändert</translation>
    </message>
    <message>
      <source>it has commits without a hash that proves them</source>
      <translation>es hat Commits ohne einen Hash, der sie beweist</translation>
    </message>
    <message>
      <source>it has no id</source>
      <translation>sie hat keine Id</translation>
    </message>
    <message>
      <source>it holds only changes, and older versions stay</source>
      <translation>sie hält nur Änderungen fest, und ältere Versionen bleiben</translation>
    </message>
    <message>
      <source>it holds only its changes again</source>
      <translation>sie hält wieder nur ihre Änderungen fest</translation>
    </message>
    <message>
      <source>it holds {0}, but {1} were exported</source>
      <translation>darin sind {0}, aber {1} wurden exportiert</translation>
    </message>
    <message>
      <source>it is damaged, not proven or never became the current one, which `palimpsest scan` settles</source>
      <translation>sie ist beschädigt, nicht belegt oder wurde nie die aktuelle; das klärt `palimpsest scan`</translation>
    </message>
    <message>
      <source>it is missing</source>
      <translation>sie fehlt</translation>
    </message>
    <message>
      <source>it is not a document</source>
      <translation>es ist kein Dokument</translation>
    </message>
    <message>
      <source>it is not a history that `palimpsest export` wrote</source>
      <translation>es ist kein Verlauf, den `palimpsest export` geschrieben hat</translation>
    </message>
    <message>
      <source>it is not text</source>
      <translation>es ist kein Text</translation>
    </message>
    <message>
      <source>it is put back, as the one that was to stay is gone</source>
      <translation>es wird zurückgelegt, da das, was bleiben sollte, weg ist</translation>
    </message>
    <message>
      <source>it is removed</source>
      <translation>sie wird entfernt</translation>
    </message>
    <message>
      <source>it is still there</source>
      <translation>es ist noch da</translation>
    </message>
    <message>
      <source>it is stored whole</source>
      <translation>sie wird vollständig gespeichert</translation>
    </message>
    <message>
      <source>it is the current one</source>
      <translation>sie ist die aktuelle</translation>
    </message>
    <message>
      <source>it lacks the file {0}, which was moved or lost</source>
      <translation>ihm fehlt die Datei {0}, die verschoben wurde oder verloren ging</translation>
    </message>
    <message>
      <source>it lacks the hash that proves it; an earlier edition wrote it, or it was changed</source>
      <translation>ihm fehlt der Hash, der es beweist; eine frühere Ausgabe hat es geschrieben, oder es wurde geändert</translation>
    </message>
    <message>
      <source>it or the version before it is damaged</source>
      <translation>sie oder die Version davor ist beschädigt</translation>
    </message>
    <message>
      <source>it says that the document was deleted</source>
      <translation>sie sagt, dass das Dokument gelöscht wurde</translation>
    </message>
    <message>
      <source>it stands above the current version</source>
      <translation>sie steht über der aktuellen Version</translation>
    </message>
    <message>
      <source>it wants a client certificate; name it as tlsCertificateKeyFile</source>
      <translation>er verlangt ein Client-Zertifikat; nennen Sie es als tlsCertificateKeyFile</translation>
    </message>
    <message>
      <source>it was</source>
      <translation>es war</translation>
    </message>
    <message>
      <source>it was deleted, and nobody knows when</source>
      <translation>es wurde gelöscht, und niemand weiß, wann</translation>
    </message>
    <message>
      <source>it was moved or renamed since the export</source>
      <translation>seit dem Export wurde es verschoben oder umbenannt</translation>
    </message>
    <message>
      <source>it was not stored</source>
      <translation>es wurde nicht gespeichert</translation>
    </message>
    <message>
      <source>its certificate has expired; whoever runs it has to renew it</source>
      <translation>sein Zertifikat ist abgelaufen; wer ihn betreibt, muss es erneuern</translation>
    </message>
    <message>
      <source>its certificate is for another name; use that name in the address</source>
      <translation>sein Zertifikat gilt für einen anderen Namen; nehmen Sie diesen in der Adresse</translation>
    </message>
    <message>
      <source>its certificate is not trusted; check tlsCAFile in the address</source>
      <translation>seinem Zertifikat wird nicht vertraut; prüfen Sie tlsCAFile in der Adresse</translation>
    </message>
    <message>
      <source>its certificate is not valid yet; check the clock of this computer</source>
      <translation>sein Zertifikat ist noch nicht gültig; prüfen Sie die Uhr dieses Rechners</translation>
    </message>
    <message>
      <source>its certificate is signed by an authority that is not known here; name the authority's file as tlsCAFile</source>
      <translation>sein Zertifikat stammt von einer Stelle, die hier nicht bekannt ist; nennen Sie deren Datei als tlsCAFile</translation>
    </message>
    <message>
      <source>its content</source>
      <translation>sein Inhalt</translation>
    </message>
    <message>
      <source>its content cannot be proven</source>
      <translation>der Inhalt ist nicht belegbar</translation>
    </message>
    <message>
      <source>its counter</source>
      <translation>sein Zähler</translation>
    </message>
    <message>
      <source>its documents are not names with one whole number each.</source>
      <translation>ihre Dokumente sind keine Namen mit je einer ganzen Zahl.</translation>
    </message>
    <message>
      <source>its export was not finished, or its end was lost after {0}</source>
      <translation>sein Export wurde nicht beendet, oder sein Ende ging nach {0} verloren</translation>
    </message>
    <message>
      <source>its feed has reached {0} UTC</source>
      <translation>seine Fütterung ist bis {0} UTC gekommen</translation>
    </message>
    <message>
      <source>its feed has seen no change so far</source>
      <translation>seine Fütterung hat bisher keine Änderung gesehen</translation>
    </message>
    <message>
      <source>its feeder keeps its place in {0}{1}</source>
      <translation>ihr Zubringer merkt sich seine Stelle in {0}{1}</translation>
    </message>
    <message>
      <source>its file has been changed since the export</source>
      <translation>seine Datei wurde seit dem Export geändert</translation>
    </message>
    <message>
      <source>its file holds another document</source>
      <translation>seine Datei enthält ein anderes Dokument</translation>
    </message>
    <message>
      <source>its first row begins with nothing</source>
      <translation>seine erste Zeile beginnt mit nichts</translation>
    </message>
    <message>
      <source>its packed data end too early</source>
      <translation>die gepackten Daten enden zu früh</translation>
    </message>
    <message>
      <source>its patch does not apply: {0}</source>
      <translation>sein Patch lässt sich nicht anwenden: {0}</translation>
    </message>
    <message>
      <source>its row does not say what was deleted</source>
      <translation>seine Zeile sagt nicht, was gelöscht wurde</translation>
    </message>
    <message>
      <source>its row in the history</source>
      <translation>seine Zeile im Verlauf</translation>
    </message>
    <message>
      <source>its rows can be written in many ways.</source>
      <translation>ihre Zeilen können auf viele Arten geschrieben sein.</translation>
    </message>
    <message>
      <source>its rows carry the documents' own {0}</source>
      <translation>ihre Zeilen tragen das eigene {0} der Dokumente</translation>
    </message>
    <message>
      <source>its tables are those of another program or version</source>
      <translation>ihre Tabellen sind die eines anderen Programms oder einer anderen Version</translation>
    </message>
    <message>
      <source>its {0} are not the ones that were exported</source>
      <translation>seine {0} sind nicht die, die exportiert wurden</translation>
    </message>
    <message>
      <source>journals, drafts, kept states and exports on other computers</source>
      <translation>Journale, Entwürfe, aufbewahrte Zustände und Exporte auf anderen Rechnern</translation>
    </message>
    <message>
      <source>just the newest</source>
      <translation>genau die neueste</translation>
    </message>
    <message>
      <source>kept</source>
      <translation>aufbewahrt</translation>
    </message>
    <message>
      <source>knows no {0}; it may hold {1}</source>
      <translation>kennt kein {0}; möglich sind {1}</translation>
    </message>
    <message>
      <source>later versions hold {0} % of the fields, those that changed</source>
      <translation>spätere Versionen enthalten {0} % der Felder, und zwar die geänderten</translation>
    </message>
    <message>
      <source>little stays the same from one {0} to the next</source>
      <translation>von einer {0} zur nächsten bleibt wenig gleich</translation>
    </message>
    <message>
      <source>lost</source>
      <translation>verloren</translation>
    </message>
    <message>
      <source>lost: deleted before it could be archived</source>
      <translation>verloren: vor dem Archivieren gelöscht</translation>
    </message>
    <message>
      <source>lost: overwritten before it could be archived</source>
      <translation>verloren: vor dem Archivieren überschrieben</translation>
    </message>
    <message>
      <source>make room there or move it away</source>
      <translation>schaffen Sie dort Platz, oder verschieben Sie es</translation>
    </message>
    <message>
      <source>merge</source>
      <translation>Zusammenführung</translation>
    </message>
    <message>
      <source>missing</source>
      <translation>fehlt</translation>
    </message>
    <message>
      <source>mostly the newest</source>
      <translation>meist die neueste</translation>
    </message>
    <message>
      <source>moved</source>
      <translation>verschoben</translation>
    </message>
    <message>
      <source>moved on</source>
      <translation>ging weiter</translation>
    </message>
    <message>
      <source>must be "login", "asked" or "name:" with a name, as in "name:Import", not {0}</source>
      <translation>muss "login", "asked" oder "name:" mit einem Namen sein, wie in "name:Import", nicht {0}</translation>
    </message>
    <message>
      <source>must be "next", "loop", "time" or "counter:database.collection", not {0}</source>
      <translation>muss "next", "loop", "time" oder "counter:datenbank.sammlung" sein, nicht {0}</translation>
    </message>
    <message>
      <source>must be "whole", or "" if such a version holds only changes, not {0}</source>
      <translation>muss „whole“ sein, oder „“, wenn eine solche Version nur Änderungen festhält, nicht {0}</translation>
    </message>
    <message>
      <source>must be a field's name in quotes</source>
      <translation>muss ein Feldname in Anführungszeichen sein</translation>
    </message>
    <message>
      <source>must be a number with s, m, h or d, such as 24h, not {0}</source>
      <translation>muss eine Zahl mit s, m, h oder d sein, etwa 24h, nicht {0}</translation>
    </message>
    <message>
      <source>must be a path such as "d._id", not {0}</source>
      <translation>muss ein Pfad wie "d._id" sein, nicht {0}</translation>
    </message>
    <message>
      <source>must be a table of fields, as in { t = "$now", d = "$document" }</source>
      <translation>muss eine Tabelle von Feldern sein, wie in { t = "$now", d = "$document" }</translation>
    </message>
    <message>
      <source>must be null</source>
      <translation>muss null sein</translation>
    </message>
    <message>
      <source>must be on one line</source>
      <translation>muss auf einer Zeile stehen</translation>
    </message>
    <message>
      <source>must be one name, or list several different ones, as in ["tenant", "number"]</source>
      <translation>muss ein Name sein oder mehrere verschiedene auflisten, wie in ["tenant", "number"]</translation>
    </message>
    <message>
      <source>must be stated in [[collection.watch]], each with a name and a filter in quotes</source>
      <translation>muss in [[collection.watch]] stehen, jede mit einem Namen und einem Filter in Anführungszeichen</translation>
    </message>
    <message>
      <source>must be the name of a field at the top, without dots or dollars, not {0}</source>
      <translation>muss der Name eines Feldes auf der obersten Ebene sein, ohne Punkte und Dollarzeichen, nicht {0}</translation>
    </message>
    <message>
      <source>must be written { algorithm = "sha1", over = "bson", keys = "stored", encoding = "hex" }</source>
      <translation>muss { algorithm = "sha1", over = "bson", keys = "stored", encoding = "hex" } geschrieben werden</translation>
    </message>
    <message>
      <source>must be written { counter = "database.collection:field" }</source>
      <translation>muss { counter = "datenbank.sammlung:feld" } geschrieben werden</translation>
    </message>
    <message>
      <source>must be written { field = "o", insert = "i", remove = "r" }</source>
      <translation>muss { field = "o", insert = "i", remove = "r" } geschrieben werden</translation>
    </message>
    <message>
      <source>must be written { path = "text" }</source>
      <translation>muss { path = "text" } geschrieben werden</translation>
    </message>
    <message>
      <source>must be { field = "…", how = … }, where how is {0}</source>
      <translation>muss { field = "…", how = … } sein, mit how als {0}</translation>
    </message>
    <message>
      <source>must be { include = ["…"] } or { exclude = ["…"] }</source>
      <translation>muss { include = ["…"] } oder { exclude = ["…"] } sein</translation>
    </message>
    <message>
      <source>must be {0} or {1}, not {2}</source>
      <translation>muss {0} oder {1} sein, nicht {2}</translation>
    </message>
    <message>
      <source>must list paths of arrays in quotes, as in ["tags", "riders.codes"]</source>
      <translation>muss Pfade von Arrays in Anführungszeichen aufzählen, wie in ["tags", "riders.codes"]</translation>
    </message>
    <message>
      <source>must list the names of fields in quotes, as in ["__v"]</source>
      <translation>muss Feldnamen in Anführungszeichen auflisten, wie in ["__v"]</translation>
    </message>
    <message>
      <source>must list the names of fields in quotes, as in ["sku"]</source>
      <translation>muss Feldnamen in Anführungszeichen auflisten, wie in ["sku"]</translation>
    </message>
    <message>
      <source>must name a collection as database.collection</source>
      <translation>muss eine Sammlung als datenbank.sammlung nennen</translation>
    </message>
    <message>
      <source>must name a field by its path, without dollars, not {0}</source>
      <translation>muss ein Feld mit seinem Pfad nennen, ohne Dollarzeichen, nicht {0}</translation>
    </message>
    <message>
      <source>must name fields, not {0}</source>
      <translation>muss Felder nennen, nicht {0}</translation>
    </message>
    <message>
      <source>must not be empty</source>
      <translation>darf nicht leer sein</translation>
    </message>
    <message>
      <source>name a user</source>
      <translation>nennen Sie einen Benutzer</translation>
    </message>
    <message>
      <source>negative zero</source>
      <translation>negative Null</translation>
    </message>
    <message>
      <source>never landed; above the current version</source>
      <translation>nie angekommen; über der aktuellen Version</translation>
    </message>
    <message>
      <source>new versions that are documents or rows of their own</source>
      <translation>neue Versionen, die eigene Dokumente oder Zeilen sind</translation>
    </message>
    <message>
      <source>newest first</source>
      <translation>neueste zuerst</translation>
    </message>
    <message>
      <source>next number</source>
      <translation>Nummernvergabe</translation>
    </message>
    <message>
      <source>no document has more than one {0} yet</source>
      <translation>noch hat kein Dokument mehr als eine {0}</translation>
    </message>
    <message>
      <source>no feeder of it is known, so an application writes both</source>
      <translation>kein Zubringer ist bekannt, also schreibt eine Anwendung beide</translation>
    </message>
    <message>
      <source>no field looks like a hash.</source>
      <translation>kein Feld sieht wie ein Hash aus.</translation>
    </message>
    <message>
      <source>no field with a whole number and one with an id were found in it.</source>
      <translation>darin fanden sich kein Feld mit einer ganzen Zahl und eines mit einer Id.</translation>
    </message>
    <message>
      <source>no field with a whole number was found in it.</source>
      <translation>darin fand sich kein Feld mit einer ganzen Zahl.</translation>
    </message>
    <message>
      <source>no field with the ids of documents in another collection was found in it.</source>
      <translation>darin fand sich kein Feld mit den Ids von Dokumenten einer anderen Sammlung.</translation>
    </message>
    <message>
      <source>no list of keys was found in it.</source>
      <translation>darin fand sich keine Liste von Schlüsseln.</translation>
    </message>
    <message>
      <source>no list of tokens was found in it.</source>
      <translation>darin fand sich keine Liste von Token.</translation>
    </message>
    <message>
      <source>no second collection with versions of its documents was found.</source>
      <translation>eine zweite Sammlung mit Versionen ihrer Dokumente fand sich nicht.</translation>
    </message>
    <message>
      <source>no sub-document with a version, and an array of earlier ones, were found in it.</source>
      <translation>darin fanden sich kein Unterdokument mit einer Version und kein Array früherer.</translation>
    </message>
    <message>
      <source>no time was kept</source>
      <translation>keine Zeit wurde festgehalten</translation>
    </message>
    <message>
      <source>no version carries {0}; {1} is the highest</source>
      <translation>keine Version trägt {0}; {1} ist die höchste</translation>
    </message>
    <message>
      <source>no version, and no array of earlier states of the same document, were found in it.</source>
      <translation>darin fanden sich keine Version und kein Array früherer Stände desselben Dokuments.</translation>
    </message>
    <message>
      <source>no versions recognised</source>
      <translation>keine Versionen erkannt</translation>
    </message>
    <message>
      <source>none</source>
      <translation>keines</translation>
    </message>
    <message>
      <source>none of those</source>
      <translation>keines davon</translation>
    </message>
    <message>
      <source>none of {0}</source>
      <translation>keinem von {0}</translation>
    </message>
    <message>
      <source>none of {whole} documents</source>
      <translation>keinem von {whole} Dokumenten</translation>
    </message>
    <message>
      <source>none of {whole} ids</source>
      <translation>keine von {whole} Ids</translation>
    </message>
    <message>
      <source>none so far</source>
      <translation>bisher nichts</translation>
    </message>
    <message>
      <source>none: nothing is added</source>
      <translation>keines: nichts kommt dazu</translation>
    </message>
    <message>
      <source>none: nothing is deleted, only purged</source>
      <translation>keines: nichts wird gelöscht, nur endgültig entfernt</translation>
    </message>
    <message>
      <source>none: nothing is removed</source>
      <translation>keines: nichts wird entfernt</translation>
    </message>
    <message>
      <source>not after {0}</source>
      <translation>nicht nach {0}</translation>
    </message>
    <message>
      <source>not in the archive yet</source>
      <translation>noch nicht im Archiv</translation>
    </message>
    <message>
      <source>nothing in them</source>
      <translation>nichts darin</translation>
    </message>
    <message>
      <source>nothing is inserted here</source>
      <translation>hier wird nichts eingefügt</translation>
    </message>
    <message>
      <source>nothing was changed</source>
      <translation>nichts wurde geändert</translation>
    </message>
    <message>
      <source>nothing: the program may store the field, and does without it</source>
      <translation>nichts: Das Programm kann das Feld speichern und kommt ohne es aus</translation>
    </message>
    <message>
      <source>numbers by value</source>
      <translation>Zahlen nach Wert</translation>
    </message>
    <message>
      <source>numbers handed out one by one</source>
      <translation>Nummern, eine nach der anderen vergeben</translation>
    </message>
    <message>
      <source>of no characters</source>
      <translation>ohne Zeichen</translation>
    </message>
    <message>
      <source>of the type {0} and no {1}</source>
      <translation>vom Typ {0} und kein {1}</translation>
    </message>
    <message>
      <source>of the type {0} and not an ObjectId</source>
      <translation>vom Typ {0} und keine ObjectId</translation>
    </message>
    <message>
      <source>of the type {0} and {1}</source>
      <translation>vom Typ {0} und {1}</translation>
    </message>
    <message>
      <source>of the type {0}, not a time</source>
      <translation>vom Typ {0} und keine Zeit</translation>
    </message>
    <message>
      <source>of the type {0}, not a whole number or a date</source>
      <translation>vom Typ {0} und weder ganze Zahl noch Datum</translation>
    </message>
    <message>
      <source>of the type {0}, not an id</source>
      <translation>vom Typ {0} und keine Id</translation>
    </message>
    <message>
      <source>of unknown age</source>
      <translation>unbekannt alt</translation>
    </message>
    <message>
      <source>on these fields</source>
      <translation>auf diese Felder</translation>
    </message>
    <message>
      <source>one document</source>
      <translation>ein Dokument</translation>
    </message>
    <message>
      <source>one more than it was, of a field around the rows</source>
      <translation>eins mehr als bisher, von einem Feld um die Zeilen herum</translation>
    </message>
    <message>
      <source>one more than the highest number of the rows that are there</source>
      <translation>eins mehr als die höchste Nummer der Zeilen, die da sind</translation>
    </message>
    <message>
      <source>one version</source>
      <translation>eine Version</translation>
    </message>
    <message>
      <source>one without an _id</source>
      <translation>eines ohne _id</translation>
    </message>
    <message>
      <source>only here</source>
      <translation>nur hier</translation>
    </message>
    <message>
      <source>only its changes, so that it is not proven</source>
      <translation>nur ihre Änderungen, sodass sie nicht bewiesen ist</translation>
    </message>
    <message>
      <source>only there</source>
      <translation>nur dort</translation>
    </message>
    <message>
      <source>only where {0}</source>
      <translation>nur wo {0}</translation>
    </message>
    <message>
      <source>operation exceeded time limit: an index of {0} is still being built</source>
      <translation>Zeitgrenze überschritten: Ein Index von {0} wird noch gebaut</translation>
    </message>
    <message>
      <source>operations applied once, by a list of tokens</source>
      <translation>Vorgänge, über eine Liste von Token nur einmal angewendet</translation>
    </message>
    <message>
      <source>order of fields</source>
      <translation>Reihenfolge der Felder</translation>
    </message>
    <message>
      <source>ordered</source>
      <translation>geordnet</translation>
    </message>
    <message>
      <source>other documents, collections and programs that hold the same values</source>
      <translation>andere Dokumente, Sammlungen und Programme mit denselben Werten</translation>
    </message>
    <message>
      <source>overwritten before they could be read</source>
      <translation>überschrieben, bevor sie gelesen werden konnten,</translation>
    </message>
    <message>
      <source>overwritten while nobody watched</source>
      <translation>überschrieben, während niemand zusah,</translation>
    </message>
    <message>
      <source>packed by bzip2</source>
      <translation>mit bzip2 gepackt</translation>
    </message>
    <message>
      <source>packed by xz</source>
      <translation>mit xz gepackt</translation>
    </message>
    <message>
      <source>packed by zstd</source>
      <translation>mit zstd gepackt</translation>
    </message>
    <message>
      <source>process {0} on {1}</source>
      <translation>Prozess {0} auf {1}</translation>
    </message>
    <message>
      <source>purge</source>
      <translation>Endlöschung</translation>
    </message>
    <message>
      <source>purge it once more</source>
      <translation>löschen Sie es noch einmal endgültig</translation>
    </message>
    <message>
      <source>put a token back</source>
      <translation>Token zurücklegen</translation>
    </message>
    <message>
      <source>put back</source>
      <translation>zurückgelegt</translation>
    </message>
    <message>
      <source>put back as it was</source>
      <translation>zurückgelegt, wie es war</translation>
    </message>
    <message>
      <source>put back what was deleted</source>
      <translation>zurücklegen, was gelöscht wurde</translation>
    </message>
    <message>
      <source>put back what was removed</source>
      <translation>zurücklegen, was entfernt wurde</translation>
    </message>
    <message>
      <source>put token back</source>
      <translation>Tokenrückgabe</translation>
    </message>
    <message>
      <source>raise the total once</source>
      <translation>die Summe einmal erhöhen</translation>
    </message>
    <message>
      <source>raised</source>
      <translation>erhöht</translation>
    </message>
    <message>
      <source>rebuilt</source>
      <translation>neu gebildet</translation>
    </message>
    <message>
      <source>rebuilt over a gap</source>
      <translation>über eine Lücke nachgebildet</translation>
    </message>
    <message>
      <source>rebuilt over a version stored twice</source>
      <translation>über eine doppelt gespeicherte Version nachgebildet</translation>
    </message>
    <message>
      <source>rebuilt over a version that cannot be read</source>
      <translation>über eine unlesbare Version nachgebildet</translation>
    </message>
    <message>
      <source>rebuilt without a base</source>
      <translation>ohne Basis nachgebildet</translation>
    </message>
    <message>
      <source>refuses the connection; check the port</source>
      <translation>lehnt die Verbindung ab; prüfen Sie den Port</translation>
    </message>
    <message>
      <source>regular expression</source>
      <translation>regulärer Ausdruck</translation>
    </message>
    <message>
      <source>removed</source>
      <translation>entfernt</translation>
    </message>
    <message>
      <source>renamed from {0}</source>
      <translation>umbenannt von {0}</translation>
    </message>
    <message>
      <source>renamed to {0}</source>
      <translation>umbenannt in {0}</translation>
    </message>
    <message>
      <source>repair</source>
      <translation>Reparatur</translation>
    </message>
    <message>
      <source>restore</source>
      <translation>Wiederherstellung</translation>
    </message>
    <message>
      <source>restored</source>
      <translation>wiederhergestellt</translation>
    </message>
    <message>
      <source>retention or loss</source>
      <translation>Aufbewahrung oder Verlust</translation>
    </message>
    <message>
      <source>revision_id is the lock of Beanie (use_revision): guarded, and renewed with every edit.</source>
      <translation>revision_id ist die Sperre von Beanie (use_revision): Sie wird geprüft und mit jeder Bearbeitung neu gebildet.</translation>
    </message>
    <message>
      <source>rows of their own</source>
      <translation>eigene Zeilen</translation>
    </message>
    <message>
      <source>saved</source>
      <translation>gespeichert</translation>
    </message>
    <message>
      <source>say --layout pending, or state its fields in a profile</source>
      <translation>wählen Sie das Layout pending, oder geben Sie die Felder in einem Profil an</translation>
    </message>
    <message>
      <source>set</source>
      <translation>gesetzt</translation>
    </message>
    <message>
      <source>shortened</source>
      <translation>gekürzt</translation>
    </message>
    <message>
      <source>snapshots of every version, which an application writes itself</source>
      <translation>Abbilder jeder Version, die eine Anwendung selbst schreibt</translation>
    </message>
    <message>
      <source>snapshots of the streams in {0}, whose events are in {1}</source>
      <translation>Momentaufnahmen der Ströme in {0}, deren Ereignisse in {1} stehen</translation>
    </message>
    <message>
      <source>somebody made another document {0} meanwhile</source>
      <translation>jemand hat inzwischen ein anderes Dokument {0} angelegt</translation>
    </message>
    <message>
      <source>something that is not a version</source>
      <translation>etwas, das keine Version ist</translation>
    </message>
    <message>
      <source>ssh cannot log in at {}; add a key to the agent (ssh-add), or name one in ~/.ssh/config</source>
      <translation>ssh wird bei {} nicht eingelassen; geben Sie dem Agenten einen Schlüssel (ssh-add), oder nennen Sie einen in ~/.ssh/config</translation>
    </message>
    <message>
      <source>ssh could not open its local end</source>
      <translation>ssh konnte sein Ende auf diesem Rechner nicht öffnen</translation>
    </message>
    <message>
      <source>ssh does not know the host {}; check its spelling, or name it in ~/.ssh/config</source>
      <translation>ssh kennt den Host {} nicht; prüfen Sie die Schreibweise, oder nennen Sie ihn in ~/.ssh/config</translation>
    </message>
    <message>
      <source>ssh does not trust the key of {}; run `ssh {}` in a terminal once, and compare the key</source>
      <translation>ssh vertraut dem Schlüssel von {} nicht; führen Sie einmal `ssh {}` in einem Terminal aus, und vergleichen Sie den Schlüssel</translation>
    </message>
    <message>
      <source>ssh to {0} ended{1}; try `ssh {2}` in a terminal.</source>
      <translation>ssh zu {0} endete{1}; versuchen Sie `ssh {2}` in einem Terminal.</translation>
    </message>
    <message>
      <source>state after_gap = "whole" in a profile</source>
      <translation>geben Sie after_gap = "whole" in einem Profil an</translation>
    </message>
    <message>
      <source>state hash_recipe, and hash_fields for what it leaves out, in a profile before anything is written here</source>
      <translation>geben Sie hash_recipe und für das Ausgelassene hash_fields in einem Profil an, bevor hier etwas geschrieben wird</translation>
    </message>
    <message>
      <source>stored twice</source>
      <translation>doppelt gespeichert</translation>
    </message>
    <message>
      <source>subType takes two hexadecimal digits, as in 00.</source>
      <translation>subType nimmt zwei hexadezimale Ziffern, wie in 00.</translation>
    </message>
    <message>
      <source>swapped the same version {0} times: exactly one won, every time.</source>
      <translation>tauschten dieselbe Version {0}-mal: Jedes Mal gewann genau einer.</translation>
    </message>
    <message>
      <source>t and i are whole numbers: {0}.</source>
      <translation>t und i sind ganze Zahlen: {0}.</translation>
    </message>
    <message>
      <source>t and i of a timestamp are from 0 to 4294967295.</source>
      <translation>t und i eines Zeitstempels gehen von 0 bis 4294967295.</translation>
    </message>
    <message>
      <source>tags, riders.codes</source>
      <translation>tags, riders.codes</translation>
    </message>
    <message>
      <source>take an entry back</source>
      <translation>einen Eintrag zurücknehmen</translation>
    </message>
    <message>
      <source>take out a token that was counted already</source>
      <translation>schon gezähltes Token herausnehmen</translation>
    </message>
    <message>
      <source>take out what was added</source>
      <translation>herausnehmen, was hinzugefügt wurde</translation>
    </message>
    <message>
      <source>taken are {0}</source>
      <translation>angenommen werden {0}</translation>
    </message>
    <message>
      <source>taken back by a failover or a restored backup, or of a document before this one</source>
      <translation>durch einen Ausfall oder eine zurückgespielte Sicherung zurückgenommen oder von einem Dokument vor diesem</translation>
    </message>
    <message>
      <source>taken out</source>
      <translation>herausgenommen</translation>
    </message>
    <message>
      <source>taken out again</source>
      <translation>wieder herausgenommen</translation>
    </message>
    <message>
      <source>taken out, as it was counted already</source>
      <translation>herausgenommen, da schon gezählt</translation>
    </message>
    <message>
      <source>text by words</source>
      <translation>Text nach Wörtern</translation>
    </message>
    <message>
      <source>text of a hash</source>
      <translation>Text eines Hashes</translation>
    </message>
    <message>
      <source>the application</source>
      <translation>die Anwendung</translation>
    </message>
    <message>
      <source>the application that writes this history</source>
      <translation>die Anwendung, die diesen Verlauf schreibt</translation>
    </message>
    <message>
      <source>the archive holds another {0}</source>
      <translation>das Archiv enthält ein anderes {0}</translation>
    </message>
    <message>
      <source>the archive holds current {0} too, with the same content</source>
      <translation>das Archiv enthält auch das aktuelle {0}, mit demselben Inhalt</translation>
    </message>
    <message>
      <source>the archive holds current {0} with another content</source>
      <translation>das Archiv enthält das aktuelle {0} mit anderem Inhalt</translation>
    </message>
    <message>
      <source>the archive holds {0} with another content: it was changed without a new version</source>
      <translation>das Archiv enthält {0} mit anderem Inhalt: Es wurde ohne neue Version geändert</translation>
    </message>
    <message>
      <source>the archive's row</source>
      <translation>die Zeile im Archiv</translation>
    </message>
    <message>
      <source>the array at the top</source>
      <translation>das oberste Array</translation>
    </message>
    <message>
      <source>the array of earlier states</source>
      <translation>das Array früherer Stände</translation>
    </message>
    <message>
      <source>the array of one document that holds the rows</source>
      <translation>das Array eines Dokuments, das die Zeilen enthält</translation>
    </message>
    <message>
      <source>the change does not say what it replaced</source>
      <translation>die Änderung sagt nicht, was sie ersetzt hat</translation>
    </message>
    <message>
      <source>the change has no original and modified fields</source>
      <translation>der Änderung fehlen die Felder original und modified</translation>
    </message>
    <message>
      <source>the change of a text is written in an unknown way</source>
      <translation>die Änderung eines Textes ist auf unbekannte Art geschrieben</translation>
    </message>
    <message>
      <source>the change of {0} does not say its values before and after</source>
      <translation>die Änderung von {0} sagt nicht, welche Werte davor und danach standen</translation>
    </message>
    <message>
      <source>the changes</source>
      <translation>die Änderungen</translation>
    </message>
    <message>
      <source>the changes behind it do not begin with it</source>
      <translation>die Änderungen danach beginnen nicht damit</translation>
    </message>
    <message>
      <source>the character {0}</source>
      <translation>das Zeichen {0}</translation>
    </message>
    <message>
      <source>the cluster</source>
      <translation>der Cluster</translation>
    </message>
    <message>
      <source>the collection with the earlier versions</source>
      <translation>die Sammlung mit den früheren Versionen</translation>
    </message>
    <message>
      <source>the content</source>
      <translation>dem Inhalt</translation>
    </message>
    <message>
      <source>the content of {0}</source>
      <translation>den Inhalt von {0}</translation>
    </message>
    <message>
      <source>the content that it had before</source>
      <translation>den Inhalt, den es zuvor hatte</translation>
    </message>
    <message>
      <source>the copy in the quarantine is cleared</source>
      <translation>die Kopie in der Quarantäne wird gelöscht</translation>
    </message>
    <message>
      <source>the copy of {0} is taken out</source>
      <translation>die Kopie von {0} wird herausgenommen</translation>
    </message>
    <message>
      <source>the copy with the fields is removed</source>
      <translation>die Kopie mit den Feldern wird entfernt</translation>
    </message>
    <message>
      <source>the copy without the fields</source>
      <translation>die Kopie ohne die Felder</translation>
    </message>
    <message>
      <source>the counter</source>
      <translation>der Zähler</translation>
    </message>
    <message>
      <source>the counter begins</source>
      <translation>der Zähler beginnt</translation>
    </message>
    <message>
      <source>the counter goes up to {0}</source>
      <translation>der Zähler steigt auf {0}</translation>
    </message>
    <message>
      <source>the counter hands out the number</source>
      <translation>der Zähler gibt die Nummer aus</translation>
    </message>
    <message>
      <source>the counter of versions is raised first</source>
      <translation>der Zähler der Versionen wird zuerst erhöht</translation>
    </message>
    <message>
      <source>the counter that a person gave</source>
      <translation>der Zähler, den ein Mensch angab</translation>
    </message>
    <message>
      <source>the counter {0}</source>
      <translation>der Zähler {0}</translation>
    </message>
    <message>
      <source>the current version</source>
      <translation>die aktuelle Version</translation>
    </message>
    <message>
      <source>the current version and earlier ones in one document</source>
      <translation>die aktuelle Version und frühere in einem Dokument</translation>
    </message>
    <message>
      <source>the current version at the top of a document, earlier ones in an array inside it</source>
      <translation>die aktuelle Version oben im Dokument, frühere in einem Array darin</translation>
    </message>
    <message>
      <source>the delta at {0} is said in an unknown way</source>
      <translation>das Delta bei {0} ist auf unbekannte Art ausgedrückt</translation>
    </message>
    <message>
      <source>the delta at {0} is {1}</source>
      <translation>das Delta bei {0} ist {1}</translation>
    </message>
    <message>
      <source>the delta is about the whole document</source>
      <translation>das Delta betrifft das ganze Dokument</translation>
    </message>
    <message>
      <source>the document</source>
      <translation>das Dokument</translation>
    </message>
    <message>
      <source>the document holds a field twice</source>
      <translation>das Dokument enthält ein Feld zweimal</translation>
    </message>
    <message>
      <source>the document is gone since</source>
      <translation>das Dokument ist seitdem weg</translation>
    </message>
    <message>
      <source>the document that begins in line {0} does not end</source>
      <translation>das Dokument, das in Zeile {0} beginnt, endet nicht</translation>
    </message>
    <message>
      <source>the document was deleted after it</source>
      <translation>das Dokument wurde danach gelöscht</translation>
    </message>
    <message>
      <source>the document with its first entry</source>
      <translation>das Dokument mit seinem ersten Eintrag</translation>
    </message>
    <message>
      <source>the document {0}</source>
      <translation>das Dokument {0}</translation>
    </message>
    <message>
      <source>the document's id</source>
      <translation>die Id des Dokuments</translation>
    </message>
    <message>
      <source>the document, which is the first state, is gone</source>
      <translation>das Dokument, das der erste Stand ist, ist nicht mehr da</translation>
    </message>
    <message>
      <source>the draft of {0}</source>
      <translation>der Entwurf von {0}</translation>
    </message>
    <message>
      <source>the dump</source>
      <translation>der Dump</translation>
    </message>
    <message>
      <source>the earlier versions</source>
      <translation>die früheren Versionen</translation>
    </message>
    <message>
      <source>the events of the streams in {0}, numbered by {1} in each</source>
      <translation>die Ereignisse der Ströme in {0}, in jedem durch {1} nummeriert</translation>
    </message>
    <message>
      <source>the feed has brought the same version meanwhile</source>
      <translation>das Nachführen hat inzwischen dieselbe Version gebracht</translation>
    </message>
    <message>
      <source>the feed stays before it. Delete its place in {0} to go on by comparing instead.</source>
      <translation>der Feed bleibt davor stehen. Löschen Sie seine Stelle in {0}, um stattdessen mit einem Vergleich fortzufahren.</translation>
    </message>
    <message>
      <source>the field that lists the paths which a version removed</source>
      <translation>das Feld mit den Pfaden, die eine Version entfernte</translation>
    </message>
    <message>
      <source>the field with the document's id in the archive</source>
      <translation>das Feld mit der Id des Dokuments im Archiv</translation>
    </message>
    <message>
      <source>the field with the hash of the content</source>
      <translation>das Feld mit dem Hash des Inhalts</translation>
    </message>
    <message>
      <source>the field with the id of the document</source>
      <translation>das Feld mit der Id des Dokuments</translation>
    </message>
    <message>
      <source>the field with the number</source>
      <translation>das Feld mit der Nummer</translation>
    </message>
    <message>
      <source>the field with the number or date of the version</source>
      <translation>das Feld mit Nummer oder Datum der Version</translation>
    </message>
    <message>
      <source>the field with the time of the version</source>
      <translation>das Feld mit der Zeit der Version</translation>
    </message>
    <message>
      <source>the field with the write token</source>
      <translation>das Feld mit dem Schreib-Token</translation>
    </message>
    <message>
      <source>the field with who made the version</source>
      <translation>das Feld mit dem Urheber der Version</translation>
    </message>
    <message>
      <source>the field with why the version was made</source>
      <translation>das Feld mit dem Grund der Version</translation>
    </message>
    <message>
      <source>the fields that the hash is made of</source>
      <translation>die Felder, aus denen der Hash gebildet wird</translation>
    </message>
    <message>
      <source>the first of several documents with this _id</source>
      <translation>das erste von mehreren Dokumenten mit dieser _id</translation>
    </message>
    <message>
      <source>the flag of the newest version, or the sub-document with the current state</source>
      <translation>die Kennung der neuesten Version oder das Unterdokument mit dem aktuellen Stand</translation>
    </message>
    <message>
      <source>the form of the patches</source>
      <translation>die Form der Patches</translation>
    </message>
    <message>
      <source>the hash as stored</source>
      <translation>der Hash, wie gespeichert wurde</translation>
    </message>
    <message>
      <source>the hash of the content</source>
      <translation>der Hash des Inhalts</translation>
    </message>
    <message>
      <source>the hash of the new document, and of the hash that it had, by hash_recipe</source>
      <translation>der Hash des neuen Dokuments und des Hashes, den es hatte, nach hash_recipe</translation>
    </message>
    <message>
      <source>the highest number</source>
      <translation>die höchste Nummer</translation>
    </message>
    <message>
      <source>the highest version</source>
      <translation>die höchste Version</translation>
    </message>
    <message>
      <source>the key of rows that each hold a part of a state</source>
      <translation>der Schlüssel von Zeilen, die je einen Teil eines Standes enthalten</translation>
    </message>
    <message>
      <source>the last version is archived</source>
      <translation>die letzte Version wird archiviert</translation>
    </message>
    <message>
      <source>the list of entries that were counted</source>
      <translation>die Liste der gezählten Einträge</translation>
    </message>
    <message>
      <source>the list of tokens between step one and step two</source>
      <translation>die Liste der Token zwischen Schritt eins und zwei</translation>
    </message>
    <message>
      <source>the list of tokens that were counted</source>
      <translation>die Liste der gezählten Token</translation>
    </message>
    <message>
      <source>the marker of a version that ends a document</source>
      <translation>das Kennzeichen einer Version, die ein Dokument beendet</translation>
    </message>
    <message>
      <source>the name {0} occurs twice in one document; rename one.</source>
      <translation>der Name {0} steht zweimal in einem Dokument; benennen Sie einen um.</translation>
    </message>
    <message>
      <source>the new document</source>
      <translation>das neue Dokument</translation>
    </message>
    <message>
      <source>the new document is numbered above an earlier life</source>
      <translation>das neue Dokument wird über einem früheren Leben nummeriert</translation>
    </message>
    <message>
      <source>the newest {0}</source>
      <translation>die neuesten {0}</translation>
    </message>
    <message>
      <source>the next number</source>
      <translation>die nächste Nummer</translation>
    </message>
    <message>
      <source>the number of the next version</source>
      <translation>die Nummer der nächsten Version</translation>
    </message>
    <message>
      <source>the one document</source>
      <translation>dem einen Dokument</translation>
    </message>
    <message>
      <source>the one id</source>
      <translation>die eine Id</translation>
    </message>
    <message>
      <source>the one that stays was changed meanwhile</source>
      <translation>das, was bleibt, wurde inzwischen geändert</translation>
    </message>
    <message>
      <source>the one that was to stay is gone</source>
      <translation>das, was bleiben sollte, ist weg</translation>
    </message>
    <message>
      <source>the operation inside of a text is not a list</source>
      <translation>die Operation in einem Text ist keine Liste</translation>
    </message>
    <message>
      <source>the operation inside of a text is not an object</source>
      <translation>die Operation in einem Text ist kein Objekt</translation>
    </message>
    <message>
      <source>the operation is about the whole document</source>
      <translation>die Operation betrifft das ganze Dokument</translation>
    </message>
    <message>
      <source>the operation is not one of the type json0</source>
      <translation>die Operation ist keine vom Typ json0</translation>
    </message>
    <message>
      <source>the patch above it does not apply: {0}</source>
      <translation>der Patch darüber lässt sich nicht anwenden: {0}</translation>
    </message>
    <message>
      <source>the patch does not say what was at {0}</source>
      <translation>der Patch sagt nicht, was bei {0} stand</translation>
    </message>
    <message>
      <source>the patch is about the whole document</source>
      <translation>der Patch betrifft das ganze Dokument</translation>
    </message>
    <message>
      <source>the patch is not a list of operations</source>
      <translation>der Patch ist keine Liste von Operationen</translation>
    </message>
    <message>
      <source>the patch moves a value from one field to another</source>
      <translation>der Patch verschiebt einen Wert von einem Feld in ein anderes</translation>
    </message>
    <message>
      <source>the program that writes the history</source>
      <translation>das Programm, das den Verlauf schreibt</translation>
    </message>
    <message>
      <source>the quoted name does not end; close it with "</source>
      <translation>der Name in Anführungszeichen endet nicht; schließen Sie ihn mit "</translation>
    </message>
    <message>
      <source>the regular expression that begins here does not end; close it with /.</source>
      <translation>der reguläre Ausdruck, der hier beginnt, endet nicht; schließen Sie ihn mit /.</translation>
    </message>
    <message>
      <source>the row has no {0}</source>
      <translation>die Zeile hat kein {0}</translation>
    </message>
    <message>
      <source>the row of a swap that failed</source>
      <translation>die Zeile eines Tauschs, der scheiterte</translation>
    </message>
    <message>
      <source>the row that an edit writes</source>
      <translation>die Zeile, die eine Bearbeitung schreibt</translation>
    </message>
    <message>
      <source>the row that is missing</source>
      <translation>die Zeile, die fehlt</translation>
    </message>
    <message>
      <source>the rows before it are gone</source>
      <translation>die Zeilen davor sind weg</translation>
    </message>
    <message>
      <source>the rows of this collection</source>
      <translation>die Zeilen dieser Sammlung</translation>
    </message>
    <message>
      <source>the rows that can be current</source>
      <translation>die Zeilen, die aktuell sein können</translation>
    </message>
    <message>
      <source>the same in whole seconds</source>
      <translation>dieselbe in ganzen Sekunden</translation>
    </message>
    <message>
      <source>the same with _id</source>
      <translation>derselbe mit _id</translation>
    </message>
    <message>
      <source>the sample</source>
      <translation>das Beispiel</translation>
    </message>
    <message>
      <source>the second {0}</source>
      <translation>das zweite {0}</translation>
    </message>
    <message>
      <source>the second {0} is deleted</source>
      <translation>das zweite {0} wird gelöscht</translation>
    </message>
    <message>
      <source>the server has ended</source>
      <translation>der Server hat geendet</translation>
    </message>
    <message>
      <source>the server is closed</source>
      <translation>der Server ist geschlossen</translation>
    </message>
    <message>
      <source>the server's oplog, backups and the free space of its files</source>
      <translation>Oplog und Sicherungen des Servers und der freie Platz in seinen Dateien</translation>
    </message>
    <message>
      <source>the state is not a document</source>
      <translation>der Stand ist kein Dokument</translation>
    </message>
    <message>
      <source>the state: without _id, and without what is ignored</source>
      <translation>der Stand: ohne _id und ohne, was ignoriert wird</translation>
    </message>
    <message>
      <source>the string that begins here does not end; close it with ".</source>
      <translation>die Zeichenkette, die hier beginnt, endet nicht; schließen Sie sie mit ".</translation>
    </message>
    <message>
      <source>the string that begins here does not end; close it with '.</source>
      <translation>die Zeichenkette, die hier beginnt, endet nicht; schließen Sie sie mit '.</translation>
    </message>
    <message>
      <source>the swap</source>
      <translation>der Tausch</translation>
    </message>
    <message>
      <source>the text at {0} is not the one that was changed</source>
      <translation>der Text bei {0} ist nicht der, der geändert wurde</translation>
    </message>
    <message>
      <source>the text ends too early</source>
      <translation>der Text endet zu früh</translation>
    </message>
    <message>
      <source>the time, later than that of any row that is there</source>
      <translation>die Zeit, später als die jeder Zeile, die da ist</translation>
    </message>
    <message>
      <source>the token is pending again</source>
      <translation>das Token ist wieder offen</translation>
    </message>
    <message>
      <source>the unique index on {0} and {1}</source>
      <translation>der eindeutige Index auf {0} und {1}</translation>
    </message>
    <message>
      <source>the value has ended here; remove what follows.</source>
      <translation>der Wert endet hier; entfernen Sie, was folgt.</translation>
    </message>
    <message>
      <source>the version as a row</source>
      <translation>die Version als Zeile</translation>
    </message>
    <message>
      <source>the version becomes a whole number</source>
      <translation>die Version wird eine ganze Zahl</translation>
    </message>
    <message>
      <source>the version before it, {0}, is missing, so what it changed is not known</source>
      <translation>die Version davor, {0}, fehlt, daher weiß niemand, was sie änderte</translation>
    </message>
    <message>
      <source>the version is a hash of the content</source>
      <translation>die Version ist ein Hash des Inhalts</translation>
    </message>
    <message>
      <source>the version is the hash in {hash}</source>
      <translation>die Version ist der Hash in {hash}</translation>
    </message>
    <message>
      <source>the whole document</source>
      <translation>das ganze Dokument</translation>
    </message>
    <message>
      <source>the whole row</source>
      <translation>die ganze Zeile</translation>
    </message>
    <message>
      <source>their _id</source>
      <translation>ihre _id</translation>
    </message>
    <message>
      <source>there is already a {0}</source>
      <translation>{0} gibt es schon</translation>
    </message>
    <message>
      <source>there is no "content", and "deleted" is not true</source>
      <translation>es gibt kein "content", und "deleted" ist nicht true</translation>
    </message>
    <message>
      <source>there is no "id"</source>
      <translation>es gibt kein "id"</translation>
    </message>
    <message>
      <source>there is no "v", by which versions are told apart</source>
      <translation>es gibt kein "v", das Versionen unterscheidet</translation>
    </message>
    <message>
      <source>there is no change {0}</source>
      <translation>es gibt keine Änderung {0}</translation>
    </message>
    <message>
      <source>there is no element to move from {0} to {1}</source>
      <translation>es gibt kein Element, das von {0} nach {1} rücken könnte</translation>
    </message>
    <message>
      <source>there is no element {0}</source>
      <translation>es gibt kein Element {0}</translation>
    </message>
    <message>
      <source>there is no key {0}; the nearest is {1}.</source>
      <translation>es gibt keinen Schlüssel {0}; der nächste ist {1}.</translation>
    </message>
    <message>
      <source>there is no key {0}; {1} has {2}.</source>
      <translation>es gibt keinen Schlüssel {0}; {1} hat {2}.</translation>
    </message>
    <message>
      <source>there is no operation {0}</source>
      <translation>es gibt keine Operation {0}</translation>
    </message>
    <message>
      <source>there is no place {0}</source>
      <translation>es gibt keine Stelle {0}</translation>
    </message>
    <message>
      <source>there is no place {0} in {1}</source>
      <translation>es gibt keine Stelle {0} in {1}</translation>
    </message>
    <message>
      <source>there is no {0}</source>
      <translation>es gibt kein {0}</translation>
    </message>
    <message>
      <source>there is no {0} in {1}</source>
      <translation>es gibt kein {0} in {1}</translation>
    </message>
    <message>
      <source>there is none</source>
      <translation>es gibt sie nicht</translation>
    </message>
    <message>
      <source>there is {0} {1}</source>
      <translation>da ist {0} {1}</translation>
    </message>
    <message>
      <source>there twice</source>
      <translation>doppelt da</translation>
    </message>
    <message>
      <source>these have a unique index</source>
      <translation>auf beiden liegt ein eindeutiger Index</translation>
    </message>
    <message>
      <source>they were</source>
      <translation>sie waren</translation>
    </message>
    <message>
      <source>this is a value of type {0}; a document is written {…}</source>
      <translation>das ist ein Wert vom Typ {0}; ein Dokument schreibt man {…}</translation>
    </message>
    <message>
      <source>this is a value of type {0}; write a document {…} or an array […]</source>
      <translation>das ist ein Wert vom Typ {0}; schreiben Sie ein Dokument {…} oder ein Array […]</translation>
    </message>
    <message>
      <source>this is not a number.</source>
      <translation>dies ist keine Zahl.</translation>
    </message>
    <message>
      <source>this is of type {0}</source>
      <translation>dies ist vom Typ {0}</translation>
    </message>
    <message>
      <source>today's content, as {0}; the archive keeps its {1}</source>
      <translation>der heutige Inhalt als {0}; das Archiv behält sein {1}</translation>
    </message>
    <message>
      <source>two-step counters</source>
      <translation>Zähler in zwei Schritten</translation>
    </message>
    <message>
      <source>undefined, which comes back as null</source>
      <translation>undefined, das als null zurückkommt</translation>
    </message>
    <message>
      <source>undo</source>
      <translation>Rücknahme</translation>
    </message>
    <message>
      <source>unique</source>
      <translation>eindeutig</translation>
    </message>
    <message>
      <source>unique index on {0} and {1}</source>
      <translation>eindeutiger Index auf {0} und {1}</translation>
    </message>
    <message>
      <source>unknown version</source>
      <translation>unbekannte Version</translation>
    </message>
    <message>
      <source>unproven</source>
      <translation>unbelegt</translation>
    </message>
    <message>
      <source>used by {0} documents</source>
      <translation>von {0} Dokumenten benutzt</translation>
    </message>
    <message>
      <source>version is a {0}</source>
      <translation>Version ist ein {0}</translation>
    </message>
    <message>
      <source>version is the lock of Spring Data (@Version): guarded, and raised with every edit.</source>
      <translation>version ist die Sperre von Spring Data (@Version): Sie wird geprüft und mit jeder Bearbeitung erhöht.</translation>
    </message>
    <message>
      <source>version of a document have {0}</source>
      <translation>Version eines Dokuments {0} haben</translation>
    </message>
    <message>
      <source>version of a document in</source>
      <translation>Version eines Dokuments zu</translation>
    </message>
    <message>
      <source>version {0} is a {1}</source>
      <translation>Version {0} ist ein {1}</translation>
    </message>
    <message>
      <source>versions that are numbered by time</source>
      <translation>Versionen, die nach der Zeit nummeriert sind</translation>
    </message>
    <message>
      <source>v{0} to v{1} of {2} were {3}, and cannot be proven.</source>
      <translation>v{0} bis v{1} von {2} wurden {3} und sind nicht belegbar.</translation>
    </message>
    <message>
      <source>was changed by somebody since</source>
      <translation>wurde seitdem von jemandem geändert</translation>
    </message>
    <message>
      <source>was counted already, nothing was written</source>
      <translation>war schon gezählt, es wurde nichts geschrieben</translation>
    </message>
    <message>
      <source>was created again since</source>
      <translation>wurde seitdem neu angelegt</translation>
    </message>
    <message>
      <source>was created and deleted again since</source>
      <translation>wurde seitdem neu angelegt und gelöscht</translation>
    </message>
    <message>
      <source>was deleted</source>
      <translation>wurde gelöscht</translation>
    </message>
    <message>
      <source>was deleted since</source>
      <translation>wurde seitdem gelöscht</translation>
    </message>
    <message>
      <source>was dropped</source>
      <translation>wurde gestrichen</translation>
    </message>
    <message>
      <source>was finished</source>
      <translation>wurde abgeschlossen</translation>
    </message>
    <message>
      <source>was purged since</source>
      <translation>wurde seitdem endgültig gelöscht</translation>
    </message>
    <message>
      <source>was put back</source>
      <translation>wurde zurückgelegt</translation>
    </message>
    <message>
      <source>was taken out, as it was counted already</source>
      <translation>wurde herausgenommen, da es schon gezählt war</translation>
    </message>
    <message>
      <source>what a row did</source>
      <translation>was eine Zeile tat</translation>
    </message>
    <message>
      <source>what a version after missing numbers holds</source>
      <translation>was eine Version nach fehlenden Nummern festhält</translation>
    </message>
    <message>
      <source>what an edit may write</source>
      <translation>was eine Bearbeitung schreiben darf</translation>
    </message>
    <message>
      <source>what an edit sets around the rows</source>
      <translation>was eine Bearbeitung um die Zeilen herum setzt</translation>
    </message>
    <message>
      <source>what an edit sets in the document</source>
      <translation>was eine Bearbeitung im Dokument setzt</translation>
    </message>
    <message>
      <source>what each change did, in {archive}</source>
      <translation>was jede Änderung tat, in {archive}</translation>
    </message>
    <message>
      <source>what each change did, written down by another program</source>
      <translation>was jede Änderung tat, von einem anderen Programm notiert</translation>
    </message>
    <message>
      <source>what each counter numbers</source>
      <translation>was jeder Zähler nummeriert</translation>
    </message>
    <message>
      <source>what happened beside the archive</source>
      <translation>was neben dem Archiv geschah</translation>
    </message>
    <message>
      <source>what left {0} at {1} is said in an unknown way</source>
      <translation>was {0} bei {1} verließ, ist auf unbekannte Art ausgedrückt</translation>
    </message>
    <message>
      <source>what left {0} at {1} is {2}</source>
      <translation>was {0} bei {1} verließ, ist {2}</translation>
    </message>
    <message>
      <source>what orders the rows</source>
      <translation>wonach die Zeilen geordnet sind</translation>
    </message>
    <message>
      <source>what the repair added is taken out</source>
      <translation>was die Reparatur hinzufügte, wird herausgenommen</translation>
    </message>
    <message>
      <source>what the repair removed is put back</source>
      <translation>was die Reparatur entfernte, wird zurückgelegt</translation>
    </message>
    <message>
      <source>what was put back below a later life</source>
      <translation>was unter einem späteren Leben zurückgelegt wurde</translation>
    </message>
    <message>
      <source>what was there before the repair</source>
      <translation>was vor der Reparatur da war</translation>
    </message>
    <message>
      <source>where the feed is</source>
      <translation>wo die Fütterung steht</translation>
    </message>
    <message>
      <source>where the number of the next version comes from</source>
      <translation>woher die Nummer der nächsten Version kommt</translation>
    </message>
    <message>
      <source>where the patch stands in a row</source>
      <translation>wo der Patch in einer Zeile steht</translation>
    </message>
    <message>
      <source>where the state stands in a row</source>
      <translation>wo der Stand in einer Zeile steht</translation>
    </message>
    <message>
      <source>which document</source>
      <translation>welches Dokument</translation>
    </message>
    <message>
      <source>which versions have a row</source>
      <translation>welche Versionen eine Zeile haben</translation>
    </message>
    <message>
      <source>who makes the edit</source>
      <translation>wer die Bearbeitung macht</translation>
    </message>
    <message>
      <source>whole documents with their order</source>
      <translation>ganze Dokumente mit ihrer Reihenfolge</translation>
    </message>
    <message>
      <source>whole double</source>
      <translation>ganzzahliges Double</translation>
    </message>
    <message>
      <source>whole states</source>
      <translation>ganze Stände</translation>
    </message>
    <message>
      <source>whose name a version made here bears</source>
      <translation>wessen Name in einer Version steht, die hier entsteht</translation>
    </message>
    <message>
      <source>why, where a person says so</source>
      <translation>warum, wo jemand es sagt</translation>
    </message>
    <message>
      <source>with different contents</source>
      <translation>mit verschiedenen Inhalten</translation>
    </message>
    <message>
      <source>with gaps</source>
      <translation>mit Lücken</translation>
    </message>
    <message>
      <source>with which content</source>
      <translation>mit welchem Inhalt</translation>
    </message>
    <message>
      <source>without gaps</source>
      <translation>lückenlos</translation>
    </message>
    <message>
      <source>would be finished: {0} + {1} ({2})</source>
      <translation>würde abgeschlossen: {0} + {1} ({2})</translation>
    </message>
    <message>
      <source>would be taken out, as it was counted already</source>
      <translation>würde herausgenommen, da es schon gezählt war</translation>
    </message>
    <message>
      <source>would be {0} MB as a row, and a server takes 16 MB</source>
      <translation>hätte als Zeile {0} MB, und ein Server nimmt 16 MB</translation>
    </message>
    <message>
      <source>write 24 hexadecimal digits</source>
      <translation>schreiben Sie 24 hexadezimale Ziffern</translation>
    </message>
    <message>
      <source>write a number of at most 34 digits</source>
      <translation>schreiben Sie eine Zahl mit höchstens 34 Ziffern</translation>
    </message>
    <message>
      <source>write a number, Infinity or NaN</source>
      <translation>schreiben Sie eine Zahl, Infinity oder NaN</translation>
    </message>
    <message>
      <source>write a whole number</source>
      <translation>schreiben Sie eine ganze Zahl</translation>
    </message>
    <message>
      <source>write it as /pattern/i</source>
      <translation>schreiben Sie es als /muster/i</translation>
    </message>
    <message>
      <source>write it as 2026-11-20 14:26, with seconds and zone if need be</source>
      <translation>schreiben Sie es als 2026-11-20 14:26, nötigenfalls mit Sekunden und Zone</translation>
    </message>
    <message>
      <source>write it as BinData(0, "SGVsbG8=") or UUID("…")</source>
      <translation>schreiben Sie es als BinData(0, "SGVsbG8=") oder UUID("…")</translation>
    </message>
    <message>
      <source>write it as Code("text")</source>
      <translation>schreiben Sie es als Code("text")</translation>
    </message>
    <message>
      <source>write it as Code("text", {})</source>
      <translation>schreiben Sie es als Code("text", {})</translation>
    </message>
    <message>
      <source>write it as Timestamp(1700000000, 1)</source>
      <translation>schreiben Sie es als Timestamp(1700000000, 1)</translation>
    </message>
    <message>
      <source>write it as ["value", "value"]</source>
      <translation>schreiben Sie es als ["value", "value"]</translation>
    </message>
    <message>
      <source>write it as {"name": "value"}</source>
      <translation>schreiben Sie es als {"name": "value"}</translation>
    </message>
    <message>
      <source>write the text in double quotes</source>
      <translation>schreiben Sie den Text in doppelten Anführungszeichen</translation>
    </message>
    <message>
      <source>write true or false</source>
      <translation>schreiben Sie true oder false</translation>
    </message>
    <message>
      <source>writes that store a hash of the content</source>
      <translation>Schreibvorgänge, die einen Hash des Inhalts speichern</translation>
    </message>
    <message>
      <source>younger than the grace period</source>
      <translation>jünger als die Schonfrist</translation>
    </message>
    <message>
      <source>{0} Copying again settles it.</source>
      <translation>{0} Noch einmal kopieren klärt es.</translation>
    </message>
    <message>
      <source>{0} Its hash does not fit the order in which it was stored.</source>
      <translation>{0} Sein Hash passt nicht zu der Reihenfolge, in der es gespeichert wurde.</translation>
    </message>
    <message>
      <source>{0} Its hash is that of the order in which this server stored it, {1}.</source>
      <translation>{0} Sein Hash ist der jener Reihenfolge, in der dieser Server es speicherte, {1}.</translation>
    </message>
    <message>
      <source>{0} Its number is {1}.</source>
      <translation>{0} Die Nummer ist {1}.</translation>
    </message>
    <message>
      <source>{0} MiB of the 16 that fit</source>
      <translation>{0} MiB der 16, die passen</translation>
    </message>
    <message>
      <source>{0} Nothing was changed.</source>
      <translation>{0} Nichts wurde geändert.</translation>
    </message>
    <message>
      <source>{0} Nothing was written.</source>
      <translation>{0} Es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} Or name a database in the address.</source>
      <translation>{0} Oder nennen Sie eine Datenbank in der Adresse.</translation>
    </message>
    <message>
      <source>{0} So its rows are only read, unless --layout plain is given.</source>
      <translation>{0} Daher werden ihre Zeilen nur gelesen, außer mit --layout plain.</translation>
    </message>
    <message>
      <source>{0} So nothing is written there until a profile or --layout states one of them.</source>
      <translation>{0} Daher wird dort nichts geschrieben, bis ein Profil oder --layout eines davon angibt.</translation>
    </message>
    <message>
      <source>{0} So nothing is written there until a profile states layout = "{1}" or another one for it, or --layout does.</source>
      <translation>{0} Daher wird dort nichts geschrieben, bis ein Profil layout = "{1}" oder ein anderes dafür angibt, oder --layout.</translation>
    </message>
    <message>
      <source>{0} So nothing is written there until a profile states token = "_w", or token = "" if it is none.</source>
      <translation>{0} Daher wird dort nichts geschrieben, bis ein Profil token = "_w" angibt, oder token = "", wenn es keines ist.</translation>
    </message>
    <message>
      <source>{0} So the profile does not fit, and nothing is written by it without --yes-layout.</source>
      <translation>{0} Das Profil passt also nicht, und ohne --yes-layout wird danach nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} The check measures in a database of its own, whose name begins with {1}.</source>
      <translation>{0} Die Prüfung misst in einer eigenen Datenbank, deren Name mit {1} beginnt.</translation>
    </message>
    <message>
      <source>{0} The collection {1} is new.</source>
      <translation>{0} Die Sammlung {1} ist neu.</translation>
    </message>
    <message>
      <source>{0} The documents before that, {1}, are shown.</source>
      <translation>{0} Die Dokumente davor, {1}, werden gezeigt.</translation>
    </message>
    <message>
      <source>{0} The layout's usual names are filled in.</source>
      <translation>{0} Die üblichen Namen des Layouts sind eingetragen.</translation>
    </message>
    <message>
      <source>{0} The newest may have been shown otherwise; read it again.</source>
      <translation>{0} Die neuesten wurden vielleicht anders gezeigt; lesen Sie neu.</translation>
    </message>
    <message>
      <source>{0} The other documents, {1}, are shown.</source>
      <translation>{0} Die übrigen Dokumente, {1}, werden gezeigt.</translation>
    </message>
    <message>
      <source>{0} The plan has repairs for it; scan again.</source>
      <translation>{0} Der Plan hat Reparaturen dafür; prüfen Sie erneut.</translation>
    </message>
    <message>
      <source>{0} The values to enter there: {1}.</source>
      <translation>{0} Die Werte, die dort einzugeben sind: {1}.</translation>
    </message>
    <message>
      <source>{0} Then {1} gets the row that {2} would write.</source>
      <translation>{0} Dann bekommt {1} die Zeile, die {2} schreiben würde.</translation>
    </message>
    <message>
      <source>{0} They are found by {1} and {2}.</source>
      <translation>{0} Sie werden über {1} und {2} gefunden.</translation>
    </message>
    <message>
      <source>{0} They may be in another collection. {1}</source>
      <translation>{0} Sie können in einer anderen Sammlung sein. {1}</translation>
    </message>
    <message>
      <source>{0} To have it once more, insert it under another id.</source>
      <translation>{0} Um es noch einmal zu haben, fügen Sie es unter einer anderen Id ein.</translation>
    </message>
    <message>
      <source>{0} Trying again.</source>
      <translation>{0} Es wird erneut versucht.</translation>
    </message>
    <message>
      <source>{0} What was kept of it then is not used any more.</source>
      <translation>{0} Was damals davon aufbewahrt wurde, wird nicht mehr verwendet.</translation>
    </message>
    <message>
      <source>{0} What was stored could not be hashed again. {1}</source>
      <translation>{0} Vom Gespeicherten ließ sich der Hash nicht neu bilden. {1}</translation>
    </message>
    <message>
      <source>{0} above current {1}</source>
      <translation>{0} über dem aktuellen {1}</translation>
    </message>
    <message>
      <source>{0} again, as {1}</source>
      <translation>wieder {0}, als {1}</translation>
    </message>
    <message>
      <source>{0} alone carries {1} now.</source>
      <translation>{0} allein trägt jetzt {1}.</translation>
    </message>
    <message>
      <source>{0} alone carries {1}.</source>
      <translation>{0} allein trägt {1}.</translation>
    </message>
    <message>
      <source>{0} alone would carry {1}</source>
      <translation>{0} allein trüge {1}</translation>
    </message>
    <message>
      <source>{0} already holds another {1} of {2}, and history is never overwritten: the document was edited in place. Save it as a new document, or settle it in Repairs.</source>
      <translation>{0} enthält schon ein anderes {1} von {2}, und Verlauf wird nie überschrieben: Das Dokument wurde an Ort und Stelle bearbeitet. Speichern Sie es als neues Dokument oder klären Sie es in den Reparaturen.</translation>
    </message>
    <message>
      <source>{0} and is for {1}.</source>
      <translation>{0} und gilt für {1}.</translation>
    </message>
    <message>
      <source>{0} and its plain twin are both there; move one of them away.</source>
      <translation>{0} und sein ungepackter Zwilling sind beide da; verschieben Sie einen davon.</translation>
    </message>
    <message>
      <source>{0} and {1} in {2} both look like locks of other programs, and an edit moves one; state it as guard in a profile, which makes the other one an ordinary field.</source>
      <translation>{0} und {1} in {2} sehen beide nach Sperren anderer Programme aus, und eine Bearbeitung bewegt nur eine; geben Sie diese in einem Profil als guard an, dann ist die andere ein gewöhnliches Feld.</translation>
    </message>
    <message>
      <source>{0} and {1} more</source>
      <translation>{0} und {1} weitere</translation>
    </message>
    <message>
      <source>{0} and {1} name one place twice; keep one of them.</source>
      <translation>{0} und {1} nennen eine Stelle zweimal; behalten Sie eines davon.</translation>
    </message>
    <message>
      <source>{0} answers with an error: {1}.</source>
      <translation>{0} antwortet mit einem Fehler: {1}.</translation>
    </message>
    <message>
      <source>{0} appeared meanwhile, so it was not overwritten; save once more.</source>
      <translation>{0} entstand inzwischen und wurde daher nicht überschrieben; speichern Sie noch einmal.</translation>
    </message>
    <message>
      <source>{0} are not whole numbers. Store them as the whole numbers they stand for?</source>
      <translation>{0} sind keine ganzen Zahlen. Als die ganzen Zahlen speichern, für die sie stehen?</translation>
    </message>
    <message>
      <source>{0} are taken out of {1}</source>
      <translation>{0} werden aus {1} genommen</translation>
    </message>
    <message>
      <source>{0} as {1}.</source>
      <translation>{0} als {1}.</translation>
    </message>
    <message>
      <source>{0} at {1} has no value</source>
      <translation>{0} bei {1} hat keinen Wert</translation>
    </message>
    <message>
      <source>{0} became {1}</source>
      <translation>{0} wurde zu {1}</translation>
    </message>
    <message>
      <source>{0} becomes what it was before the {1}</source>
      <translation>{0} wird, was es vor dem Vorgang war ({1})</translation>
    </message>
    <message>
      <source>{0} breaks off before its end; scan that part again.</source>
      <translation>{0} bricht vor dem Ende ab; prüfen Sie diesen Teil erneut.</translation>
    </message>
    <message>
      <source>{0} came to be there meanwhile; compare again.</source>
      <translation>{0} ist inzwischen dort entstanden; vergleichen Sie noch einmal.</translation>
    </message>
    <message>
      <source>{0} cannot be asked of {1}; ask it of {2}.</source>
      <translation>{0} lässt sich von {1} nicht fragen; fragen Sie es von {2}.</translation>
    </message>
    <message>
      <source>{0} cannot be dropped: {1}</source>
      <translation>{0} kann nicht gestrichen werden: {1}</translation>
    </message>
    <message>
      <source>{0} cannot be finished: {1}</source>
      <translation>{0} kann nicht abgeschlossen werden: {1}</translation>
    </message>
    <message>
      <source>{0} cannot be imported: {1}; export the history again, to another place.</source>
      <translation>{0} kann nicht importiert werden: {1}; exportieren Sie den Verlauf noch einmal, an einen anderen Ort.</translation>
    </message>
    <message>
      <source>{0} cannot be made ({1}); choose another place.</source>
      <translation>{0} lässt sich nicht anlegen ({1}); wählen Sie einen anderen Ort.</translation>
    </message>
    <message>
      <source>{0} cannot be reached safely: {1}.</source>
      <translation>{0} ist nicht sicher erreichbar: {1}.</translation>
    </message>
    <message>
      <source>{0} cannot be read ({1}), so this history cannot be moved.</source>
      <translation>{0} lässt sich nicht lesen ({1}), daher kann dieser Verlauf nicht umziehen.</translation>
    </message>
    <message>
      <source>{0} cannot be read ({1}), so {2} is shown without its indexes.</source>
      <translation>{0} kann nicht gelesen werden ({1}), daher wird {2} ohne seine Indexe gezeigt.</translation>
    </message>
    <message>
      <source>{0} cannot be read ({1}).</source>
      <translation>{0} kann nicht gelesen werden ({1}).</translation>
    </message>
    <message>
      <source>{0} cannot be read ({1}); allow reading it.</source>
      <translation>{0} kann nicht gelesen werden ({1}); erlauben Sie das Lesen.</translation>
    </message>
    <message>
      <source>{0} cannot be read ({1}); choose another place.</source>
      <translation>{0} kann nicht gelesen werden ({1}); wählen Sie einen anderen Ort.</translation>
    </message>
    <message>
      <source>{0} cannot be read as {1}: {2} State its fields in a profile.</source>
      <translation>{0} lässt sich nicht als {1} lesen: {2} Geben Sie die Felder in einem Profil an.</translation>
    </message>
    <message>
      <source>{0} cannot be read, so it is not written.</source>
      <translation>{0} lässt sich nicht lesen, daher wird es nicht geschrieben.</translation>
    </message>
    <message>
      <source>{0} cannot be read: {1}.</source>
      <translation>{0} kann nicht gelesen werden: {1}.</translation>
    </message>
    <message>
      <source>{0} cannot be read: {1}; choose another file.</source>
      <translation>{0} kann nicht gelesen werden: {1}; wählen Sie eine andere Datei.</translation>
    </message>
    <message>
      <source>{0} cannot be restored: {1}.</source>
      <translation>{0} lässt sich nicht wiederherstellen: {1}.</translation>
    </message>
    <message>
      <source>{0} cannot be sorted into {1}: {2}.</source>
      <translation>{0} lässt sich nicht nach {1} sortieren: {2}.</translation>
    </message>
    <message>
      <source>{0} cannot be stored whole, as no list of removed paths can name what is gone by then.</source>
      <translation>{0} kann nicht vollständig gespeichert werden, da keine Liste entfernter Pfade nennen kann, was bis dahin weg ist.</translation>
    </message>
    <message>
      <source>{0} cannot be used ({1}): {2}.</source>
      <translation>{0} kann nicht benutzt werden ({1}): {2}.</translation>
    </message>
    <message>
      <source>{0} cannot be written ({1}); choose another place.</source>
      <translation>{0} kann nicht geschrieben werden ({1}); wählen Sie einen anderen Ort.</translation>
    </message>
    <message>
      <source>{0} cannot be written ({1}); export again.</source>
      <translation>{0} kann nicht geschrieben werden ({1}); exportieren Sie noch einmal.</translation>
    </message>
    <message>
      <source>{0} cannot be written ({1}); make room and export again.</source>
      <translation>{0} kann nicht geschrieben werden ({1}); schaffen Sie Platz und exportieren Sie noch einmal.</translation>
    </message>
    <message>
      <source>{0} cannot be written ({1}); make room or allow writing there.</source>
      <translation>{0} kann nicht geschrieben werden ({1}); schaffen Sie Platz, oder erlauben Sie dort das Schreiben.</translation>
    </message>
    <message>
      <source>{0} cannot be written ({1}); make room or choose another place.</source>
      <translation>{0} kann nicht geschrieben werden ({1}); schaffen Sie Platz, oder wählen Sie einen anderen Ort.</translation>
    </message>
    <message>
      <source>{0} cannot be written ({1}); make room there.</source>
      <translation>{0} kann nicht geschrieben werden ({1}); schaffen Sie dort Platz.</translation>
    </message>
    <message>
      <source>{0} cannot be written ({1}); name another file.</source>
      <translation>{0} kann nicht geschrieben werden ({1}); nennen Sie eine andere Datei.</translation>
    </message>
    <message>
      <source>{0} cannot be written: {1}; choose another place.</source>
      <translation>{0} kann nicht geschrieben werden: {1}; wählen Sie einen anderen Ort.</translation>
    </message>
    <message>
      <source>{0} cannot have this unique index: {1}.</source>
      <translation>{0} kann diesen eindeutigen Index nicht haben: {1}.</translation>
    </message>
    <message>
      <source>{0} cannot hold the number; name a field of the content, without dots or dollars.</source>
      <translation>{0} kann die Nummer nicht enthalten; nennen Sie ein Feld des Inhalts, ohne Punkte und Dollarzeichen.</translation>
    </message>
    <message>
      <source>{0} cannot stand beside a typed value; it is written {1}.</source>
      <translation>{0} kann nicht neben einem Wert mit Typ stehen; er schreibt sich {1}.</translation>
    </message>
    <message>
      <source>{0} cannot take a history. {1} Name another collection, or a layout (--layout).</source>
      <translation>{0} kann keinen Verlauf aufnehmen. {1} Nennen Sie eine andere Sammlung oder ein Layout (--layout).</translation>
    </message>
    <message>
      <source>{0} carries {1}; {2} is the highest</source>
      <translation>{0} trägt {1}; {2} ist die höchste</translation>
    </message>
    <message>
      <source>{0} carry {1}</source>
      <translation>{0} tragen {1}</translation>
    </message>
    <message>
      <source>{0} changed from {1} to {2}{3}.</source>
      <translation>{0} wurde von {1} zu {2}{3}.</translation>
    </message>
    <message>
      <source>{0} changed from {1}, {2}, to {3}, {4}.</source>
      <translation>{0} wurde von {1}, {2}, zu {3}, {4}.</translation>
    </message>
    <message>
      <source>{0} changed in this moment; nothing was written.</source>
      <translation>{0} änderte sich in diesem Augenblick; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} changed meanwhile</source>
      <translation>{0} hat sich inzwischen geändert</translation>
    </message>
    <message>
      <source>{0} changed meanwhile without a new version, and was kept.</source>
      <translation>{0} änderte sich inzwischen ohne neue Version und wurde behalten.</translation>
    </message>
    <message>
      <source>{0} changed meanwhile; run it again.</source>
      <translation>{0} hat sich inzwischen geändert; führen Sie es noch einmal aus.</translation>
    </message>
    <message>
      <source>{0} changed since ({1} → {2}); nothing was written.</source>
      <translation>{0} hat sich seitdem geändert ({1} → {2}); es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} changed since it was listed; nothing was written.</source>
      <translation>{0} hat sich geändert, seit es gelistet wurde; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} changed since the {1}</source>
      <translation>{0} hat sich seit dem Vorgang geändert ({1})</translation>
    </message>
    <message>
      <source>{0} changed since the {1}, which rested on it</source>
      <translation>{0} hat sich seit dem Vorgang geändert, der darauf beruhte ({1})</translation>
    </message>
    <message>
      <source>{0} closes the connection; it may want TLS (tls=true), or not be a MongoDB server.</source>
      <translation>{0} schließt die Verbindung; vielleicht verlangt er TLS (tls=true) oder ist kein MongoDB-Server.</translation>
    </message>
    <message>
      <source>{0} could be stored whole, but nothing would show that it is: {1}.</source>
      <translation>{0} könnte vollständig gespeichert werden, aber nichts würde das zeigen: {1}.</translation>
    </message>
    <message>
      <source>{0} could not be archived, so {1}. {2}</source>
      <translation>{0} ließ sich nicht archivieren, also: {1}. {2}</translation>
    </message>
    <message>
      <source>{0} could not be found in {1}, so nothing was changed.</source>
      <translation>{0} war in {1} nicht zu finden, also wurde nichts geändert.</translation>
    </message>
    <message>
      <source>{0} could not be read again</source>
      <translation>{0} ließ sich nicht erneut lesen</translation>
    </message>
    <message>
      <source>{0} current documents have this id, {1}</source>
      <translation>{0} aktuelle Dokumente haben diese Id, {1}</translation>
    </message>
    <message>
      <source>{0} databases can be seen: {1}.</source>
      <translation>{0} Datenbanken sind sichtbar: {1}.</translation>
    </message>
    <message>
      <source>{0} describes a collection and holds no documents; give its .bson file or its folder.</source>
      <translation>{0} beschreibt eine Sammlung und enthält keine Dokumente; nehmen Sie ihre .bson-Datei oder ihren Ordner.</translation>
    </message>
    <message>
      <source>{0} did not answer in time; try again.</source>
      <translation>{0} antwortete nicht rechtzeitig; versuchen Sie es erneut.</translation>
    </message>
    <message>
      <source>{0} did not get its row</source>
      <translation>{0} bekam seine Zeile nicht</translation>
    </message>
    <message>
      <source>{0} did not get its row. {1}</source>
      <translation>{0} bekam seine Zeile nicht. {1}</translation>
    </message>
    <message>
      <source>{0} documents</source>
      <translation>{0} Dokumente</translation>
    </message>
    <message>
      <source>{0} documents for this key</source>
      <translation>{0} Dokumente für diesen Schlüssel</translation>
    </message>
    <message>
      <source>{0} documents were removed.</source>
      <translation>{0} Dokumente wurden entfernt.</translation>
    </message>
    <message>
      <source>{0} document{1} {2}, so only the bytes were looked at.</source>
      <translation>{0} Dokumente: {2}, daher wurden nur die Bytes angesehen.</translation>
    </message>
    <message>
      <source>{0} does not accept this user name and password any more; connect again.</source>
      <translation>{0} nimmt diesen Benutzernamen mit Passwort nicht mehr an; verbinden Sie sich neu.</translation>
    </message>
    <message>
      <source>{0} does not accept this user name and password; check both, and authSource.</source>
      <translation>{0} nimmt Benutzer und Passwort nicht an; prüfen Sie beide und authSource.</translation>
    </message>
    <message>
      <source>{0} does not accept this; write it as in {1}.</source>
      <translation>{0} nimmt das nicht an; schreiben Sie es wie in {1}.</translation>
    </message>
    <message>
      <source>{0} does not answer in time; check the address, the network and firewalls.</source>
      <translation>{0} antwortet nicht rechtzeitig; prüfen Sie Adresse, Netz und Firewalls.</translation>
    </message>
    <message>
      <source>{0} does not answer over TLS; check the address, and whether it wants tls=true.</source>
      <translation>{0} antwortet nicht über TLS; prüfen Sie die Adresse und ob sie tls=true verlangt.</translation>
    </message>
    <message>
      <source>{0} does not answer ssh in time; check the network and jump hosts.</source>
      <translation>{0} antwortet ssh nicht rechtzeitig; prüfen Sie das Netz und die Sprunghosts.</translation>
    </message>
    <message>
      <source>{0} does not belong to the replica set that the address names; check replicaSet.</source>
      <translation>{0} gehört nicht zu dem Replica Set, das die Adresse nennt; prüfen Sie replicaSet.</translation>
    </message>
    <message>
      <source>{0} does not fit an Int64; write it as {"$numberDecimal": "…"}.</source>
      <translation>{0} passt nicht in ein Int64; schreiben Sie es als {"$numberDecimal": "…"}.</translation>
    </message>
    <message>
      <source>{0} does not hold the current version any more.</source>
      <translation>{0} enthält die aktuelle Version nicht mehr.</translation>
    </message>
    <message>
      <source>{0} does not match the filter any more.</source>
      <translation>{0} passt nicht mehr zum Filter.</translation>
    </message>
    <message>
      <source>{0} does not stand for a whole number. Which number is this version?</source>
      <translation>{0} steht für keine ganze Zahl. Welche Nummer ist diese Version?</translation>
    </message>
    <message>
      <source>{0} does not stand for a whole number; say in the plan which one it is.</source>
      <translation>{0} steht für keine ganze Zahl; sagen Sie im Plan, für welche.</translation>
    </message>
    <message>
      <source>{0} does not take {1} of {2}: another unique index stands in its way; drop that first. {3}</source>
      <translation>{0} nimmt {1} von {2} nicht an: Ein anderer eindeutiger Index steht im Weg; löschen Sie zuerst diesen. {3}</translation>
    </message>
    <message>
      <source>{0} does nothing in the layout {1}; {2} has {3}.</source>
      <translation>{0} bewirkt im Layout {1} nichts; {2} hat {3}.</translation>
    </message>
    <message>
      <source>{0} exists already, so {1} cannot take its name.</source>
      <translation>{0} gibt es schon, also kann {1} nicht so heißen.</translation>
    </message>
    <message>
      <source>{0} fits {1} as well as {2}, which differ here; {3}.</source>
      <translation>{0} passt zu {1} wie zu {2}, die sich hier unterscheiden; {3}.</translation>
    </message>
    <message>
      <source>{0} flagged as current</source>
      <translation>{0} als aktuell gekennzeichnet</translation>
    </message>
    <message>
      <source>{0} further documents could not be read.</source>
      <translation>{0} weitere Dokumente konnten nicht gelesen werden.</translation>
    </message>
    <message>
      <source>{0} gets {1}</source>
      <translation>{0} bekommt {1}</translation>
    </message>
    <message>
      <source>{0} goes up by {1} as the token is taken out, in one write, and only while the token is still pending and not applied: sending it twice changes nothing more.</source>
      <translation>{0} steigt um {1}, während das Token herausgenommen wird, in einem Schreibvorgang und nur, solange das Token noch offen und nicht angewendet ist: Zweimal senden ändert nichts weiter.</translation>
    </message>
    <message>
      <source>{0} goes {1}, which is not how a lock of its kind moves</source>
      <translation>{0} geht {1}; so bewegt sich eine Sperre dieser Art nicht</translation>
    </message>
    <message>
      <source>{0} got another row at this very moment; try again.</source>
      <translation>{0} bekam in diesem Augenblick eine weitere Zeile; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>{0} got other commits meanwhile; export again.</source>
      <translation>{0} hat inzwischen andere Commits bekommen; exportieren Sie noch einmal.</translation>
    </message>
    <message>
      <source>{0} got {1} since the scan</source>
      <translation>{0} hat seit der Prüfung {1} bekommen</translation>
    </message>
    <message>
      <source>{0} handed out {1}.</source>
      <translation>{0} gab {1} aus.</translation>
    </message>
    <message>
      <source>{0} has a document {1} ({2}), and the server finds {3} ({4}) equal to it; write the id as it is stored.</source>
      <translation>{0} hat ein Dokument {1} ({2}), und der Server hält {3} ({4}) für gleich; schreiben Sie die Id, wie sie gespeichert ist.</translation>
    </message>
    <message>
      <source>{0} has a field {1} of its own, in which {2} keeps the document's id, so no version of it can be archived; name archive_id otherwise in a profile.</source>
      <translation>{0} hat ein eigenes Feld {1}, in dem {2} die Id des Dokuments führt, daher lässt sich keine Version davon archivieren; nennen Sie archive_id in einem Profil anders.</translation>
    </message>
    <message>
      <source>{0} has a field {1} of its own, in which {2} keeps the document's id; name archive_id otherwise in a profile.</source>
      <translation>{0} hat ein eigenes Feld {1}, in dem {2} die Id des Dokuments führt; nennen Sie archive_id in einem Profil anders.</translation>
    </message>
    <message>
      <source>{0} has a field {1} of its own; name archive_id otherwise in a profile.</source>
      <translation>{0} hat ein eigenes Feld {1}; nennen Sie archive_id in einem Profil anders.</translation>
    </message>
    <message>
      <source>{0} has a name with a dot or a dollar, which only `palimpsest edit` changes.</source>
      <translation>{0} hat einen Namen mit Punkt oder Dollarzeichen; den ändert nur `palimpsest edit`.</translation>
    </message>
    <message>
      <source>{0} has an array in {1}, in {2}, so documents cannot be paired by it; take another key.</source>
      <translation>{0} hat ein Array in {1}, in {2}, darum können Dokumente nicht danach gepaart werden; nehmen Sie einen anderen Schlüssel.</translation>
    </message>
    <message>
      <source>{0} has caught up.</source>
      <translation>{0} hat aufgeholt.</translation>
    </message>
    <message>
      <source>{0} has changed since it was opened; open it again</source>
      <translation>{0} hat sich seit dem Öffnen geändert; öffnen Sie es neu</translation>
    </message>
    <message>
      <source>{0} has changed since, and it is not known whether this write was among the changes.</source>
      <translation>{0} hat sich seither geändert, und niemand kann sagen, ob dieser Schreibvorgang unter den Änderungen war.</translation>
    </message>
    <message>
      <source>{0} has few of its fields there</source>
      <translation>{0} hat dort wenige seiner Felder</translation>
    </message>
    <message>
      <source>{0} has files that no export wrote; move them elsewhere, or choose an empty folder.</source>
      <translation>{0} enthält Dateien, die kein Export geschrieben hat; verschieben Sie sie, oder wählen Sie einen leeren Ordner.</translation>
    </message>
    <message>
      <source>{0} has got newer versions since the {1}</source>
      <translation>{0} hat seit dem Vorgang neuere Versionen bekommen ({1})</translation>
    </message>
    <message>
      <source>{0} has more than {1} MB in one array or on lines of their own</source>
      <translation>{0} hat mehr als {1} MB in einem Array oder auf eigenen Zeilen</translation>
    </message>
    <message>
      <source>{0} has no branch checked out; check one out first.</source>
      <translation>{0} hat keinen Branch ausgecheckt; checken Sie zuerst einen aus.</translation>
    </message>
    <message>
      <source>{0} has no content to compare ({1}).</source>
      <translation>{0} hat keinen Inhalt zum Vergleichen ({1}).</translation>
    </message>
    <message>
      <source>{0} has no current document in {1}.</source>
      <translation>{0} hat kein aktuelles Dokument in {1}.</translation>
    </message>
    <message>
      <source>{0} has no documents, so nothing tells which layout suits it.</source>
      <translation>{0} hat keine Dokumente, deshalb sagt nichts, welches Layout passt.</translation>
    </message>
    <message>
      <source>{0} has no element {1}</source>
      <translation>{0} hat kein Element {1}</translation>
    </message>
    <message>
      <source>{0} has no entry {1} in {2}.</source>
      <translation>{0} hat keinen Eintrag {1} in {2}.</translation>
    </message>
    <message>
      <source>{0} has no field that looks like the lock of another program.</source>
      <translation>{0} hat kein Feld, das wie die Sperre eines anderen Programms aussieht.</translation>
    </message>
    <message>
      <source>{0} has no field {1}; say which field is the total{2}.</source>
      <translation>{0} hat kein Feld {1}; sagen Sie, welches Feld die Summe ist{2}.</translation>
    </message>
    <message>
      <source>{0} has no path</source>
      <translation>{0} hat keinen Pfad</translation>
    </message>
    <message>
      <source>{0} has no place {1}</source>
      <translation>{0} hat keine Stelle {1}</translation>
    </message>
    <message>
      <source>{0} has no row of this document yet; save it once through {1}.</source>
      <translation>{0} hat noch keine Zeile dieses Dokuments; speichern Sie es einmal über {1}.</translation>
    </message>
    <message>
      <source>{0} has no unique index on {1} and {2}, so a version could be archived twice; create it: db.getSiblingDB("{3}")["{4}"].createIndex({{5}}, {unique: true}).</source>
      <translation>{0} hat keinen eindeutigen Index auf {1} und {2}, also könnte eine Version doppelt archiviert werden; legen Sie ihn an: db.getSiblingDB("{3}")["{4}"].createIndex({{5}}, {unique: true}).</translation>
    </message>
    <message>
      <source>{0} has no unique index on {1} and {2}, so two writers could archive one version twice; create the index to write here.</source>
      <translation>{0} hat keinen eindeutigen Index auf {1} und {2}, also könnten zwei Schreiber eine Version doppelt archivieren; legen Sie zum Schreiben den Index an.</translation>
    </message>
    <message>
      <source>{0} has no unique index on {1} and {2}, so two writers could both insert the next version; create the index to write here.</source>
      <translation>{0} hat keinen eindeutigen Index auf {1} und {2}, also könnten zwei Schreiber beide die nächste Version einfügen; legen Sie zum Schreiben den Index an.</translation>
    </message>
    <message>
      <source>{0} has no unique index on {1}, so two could get one number; create the index first.</source>
      <translation>{0} hat keinen eindeutigen Index auf {1}, deshalb könnten zwei eine Nummer erhalten; legen Sie den Index zuerst an.</translation>
    </message>
    <message>
      <source>{0} has no unique index on {1}, so two could make the document of {2} at once; create the index, or the document, first.</source>
      <translation>{0} hat keinen eindeutigen Index auf {1}, also könnten zwei gleichzeitig das Dokument von {2} anlegen; legen Sie zuerst den Index oder das Dokument an.</translation>
    </message>
    <message>
      <source>{0} has no version {1} in {2} or {3}.</source>
      <translation>{0} hat keine Version {1} in {2} oder {3}.</translation>
    </message>
    <message>
      <source>{0} has no version {1} in {2}.</source>
      <translation>{0} hat keine Version {1} in {2}.</translation>
    </message>
    <message>
      <source>{0} has no version {1}.</source>
      <translation>{0} hat keine Version {1}.</translation>
    </message>
    <message>
      <source>{0} has no version {1}; `palimpsest history` lists its versions.</source>
      <translation>{0} hat keine Version {1}; der Verlauf listet seine Versionen auf.</translation>
    </message>
    <message>
      <source>{0} has no version {1}; {2} keeps the current one alone.</source>
      <translation>{0} hat keine Version {1}; {2} bewahrt nur die aktuelle.</translation>
    </message>
    <message>
      <source>{0} has no version, so none of it can be imported.</source>
      <translation>{0} hat keine Version, also lässt sich nichts davon importieren.</translation>
    </message>
    <message>
      <source>{0} has no zone and is taken as {1} {2}.</source>
      <translation>{0} hat keine Zone und gilt als {1} {2}.</translation>
    </message>
    <message>
      <source>{0} has none of these versions any more.</source>
      <translation>{0} hat keine dieser Versionen mehr.</translation>
    </message>
    <message>
      <source>{0} has nothing of {1} yet; save it once through {2}.</source>
      <translation>{0} hat noch nichts von {1}; speichern Sie es einmal über {2}.</translation>
    </message>
    <message>
      <source>{0} has the column {1} twice; remove one of them.</source>
      <translation>{0} hat die Spalte {1} zweimal; nehmen Sie eine davon heraus.</translation>
    </message>
    <message>
      <source>{0} has the ids of the wrong sides</source>
      <translation>{0} hat die IDs der falschen Seiten</translation>
    </message>
    <message>
      <source>{0} has the index it needs.</source>
      <translation>{0} hat den nötigen Index.</translation>
    </message>
    <message>
      <source>{0} has the same hash and {1}</source>
      <translation>{0} hat denselben Hash und {1}</translation>
    </message>
    <message>
      <source>{0} has the same versions on both sides.</source>
      <translation>{0} hat auf beiden Seiten dieselben Versionen.</translation>
    </message>
    <message>
      <source>{0} has the unique index now.</source>
      <translation>{0} hat jetzt den eindeutigen Index.</translation>
    </message>
    <message>
      <source>{0} has this very hash already; nothing was written.</source>
      <translation>{0} hat genau diesen Hash schon; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} has {1} already: somebody is saving this document, or died while saving it. Try again; if nobody is saving, remove that row.</source>
      <translation>{0} hat {1} schon: Jemand speichert dieses Dokument gerade oder starb dabei. Versuchen Sie es noch einmal; wo niemand speichert, nehmen Sie jene Zeile heraus.</translation>
    </message>
    <message>
      <source>{0} has {1} beside its versions, which would not be moved; copy them into its versions or take them out with your own tools first.</source>
      <translation>{0} hat {1} neben seinen Versionen, was nicht mit umzöge; kopieren Sie es zuerst mit eigenen Werkzeugen in die Versionen, oder nehmen Sie es heraus.</translation>
    </message>
    <message>
      <source>{0} has {1} in {2} several times, so documents cannot be paired by it; take a key that is unique.</source>
      <translation>{0} hat {1} in {2} mehrmals, darum können Dokumente nicht danach gepaart werden; nehmen Sie einen eindeutigen Schlüssel.</translation>
    </message>
    <message>
      <source>{0} has {1} versions there and {2} here.</source>
      <translation>{0} hat dort {1} Versionen und hier {2}.</translation>
    </message>
    <message>
      <source>{0} has {1} versions, and {2} keeps only the newest; the others stay behind in the old collection if you accept that (--newest-only).</source>
      <translation>{0} hat {1} Versionen, und {2} behält nur die neueste; die anderen bleiben in der alten Sammlung, wenn Sie das annehmen (--newest-only).</translation>
    </message>
    <message>
      <source>{0} hash differs</source>
      <translation>{0} Hash weicht ab</translation>
    </message>
    <message>
      <source>{0} hashes differ</source>
      <translation>{0} Hashes weichen ab</translation>
    </message>
    <message>
      <source>{0} holds a later life, below which nobody can edit it; settle that in Repairs.</source>
      <translation>{0} enthält ein späteres Leben, unter dem es niemand bearbeiten kann; klären Sie das in den Reparaturen.</translation>
    </message>
    <message>
      <source>{0} holds a number that is larger than any counter; mend that first.</source>
      <translation>{0} enthält eine Zahl, die größer ist als jeder Zähler; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} holds a value of type {1}, not a hash; name the field with the hash in a profile.</source>
      <translation>{0} enthält einen Wert vom Typ {1} und keinen Hash; nennen Sie das Feld mit dem Hash in einem Profil.</translation>
    </message>
    <message>
      <source>{0} holds a version above {1}; settle that first.</source>
      <translation>{0} enthält eine Version über {1}; klären Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} holds a {1} of an earlier life; settle that in Repairs.</source>
      <translation>{0} enthält ein {1} aus einem früheren Leben; klären Sie das in den Reparaturen.</translation>
    </message>
    <message>
      <source>{0} holds another {1} of {2} than is current: it was changed without a new version. Nothing was overwritten.</source>
      <translation>{0} enthält ein anderes {1} von {2}, als aktuell ist: Es wurde ohne neue Version geändert. Nichts wurde überschrieben.</translation>
    </message>
    <message>
      <source>{0} holds another {1} of {2}: it was changed without a new version, or its id was used before. Nothing was overwritten.</source>
      <translation>{0} enthält ein anderes {1} von {2}: Es wurde ohne neue Version geändert, oder seine Id gab es schon einmal. Nichts wurde überschrieben.</translation>
    </message>
    <message>
      <source>{0} holds another {1} of {2}; a person has to decide which is right.</source>
      <translation>{0} enthält ein anderes {1} von {2}; ein Mensch muss sagen, welches richtig ist.</translation>
    </message>
    <message>
      <source>{0} holds documents already that are not of this move; name another target.</source>
      <translation>{0} enthält schon Dokumente, die nicht von diesem Umzug stammen; nennen Sie ein anderes Ziel.</translation>
    </message>
    <message>
      <source>{0} holds documents without {1}, which were not moved.</source>
      <translation>{0} enthält Dokumente ohne {1}, die nicht umgezogen sind.</translation>
    </message>
    <message>
      <source>{0} holds duplicates, so the unique index cannot be created; settle them first.</source>
      <translation>{0} enthält Duplikate, deshalb kann der eindeutige Index nicht angelegt werden; klären Sie diese zuerst.</translation>
    </message>
    <message>
      <source>{0} holds just this content already; nothing was written.</source>
      <translation>{0} hat genau diesen Inhalt schon; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} holds more of {1} than {2} does; settle that by hand.</source>
      <translation>{0} enthält mehr von {1} als {2}; klären Sie das von Hand.</translation>
    </message>
    <message>
      <source>{0} holds more than one document; give a file with one.</source>
      <translation>{0} enthält mehr als ein Dokument; nehmen Sie eine Datei mit einem.</translation>
    </message>
    <message>
      <source>{0} holds more than {1} MB, which do not fit into memory; open it without --into-memory, which reads it from disk.</source>
      <translation>{0} enthält mehr als {1} MB, die nicht in den Speicher passen; öffnen Sie es ohne --into-memory, dann wird von der Platte gelesen.</translation>
    </message>
    <message>
      <source>{0} holds no .bson file: give the folder that mongodump wrote, or one file.</source>
      <translation>{0} enthält keine .bson-Datei: Nehmen Sie den Ordner, den mongodump schrieb, oder eine Datei.</translation>
    </message>
    <message>
      <source>{0} holds no git repository with a commit; give the folder of an export.</source>
      <translation>{0} enthält kein git-Repository mit einem Commit; nehmen Sie den Ordner eines Exports.</translation>
    </message>
    <message>
      <source>{0} holds no history that an export wrote; give another file.</source>
      <translation>{0} enthält keinen Verlauf, den ein Export geschrieben hat; nehmen Sie eine andere Datei.</translation>
    </message>
    <message>
      <source>{0} holds no history that an export wrote; give another folder.</source>
      <translation>{0} enthält keinen Verlauf, den ein Export geschrieben hat; nehmen Sie einen anderen Ordner.</translation>
    </message>
    <message>
      <source>{0} holds no other {1} of it any more.</source>
      <translation>{0} enthält davon kein anderes {1} mehr.</translation>
    </message>
    <message>
      <source>{0} holds nothing but {1}, which would say that it is deleted.</source>
      <translation>{0} enthält nichts als {1}, was besagen würde, dass es gelöscht ist.</translation>
    </message>
    <message>
      <source>{0} holds nothing of {1} any more.</source>
      <translation>{0} enthält nichts mehr von {1}.</translation>
    </message>
    <message>
      <source>{0} holds several documents for {1}, so it is not known which one counts; settle that first.</source>
      <translation>{0} enthält mehrere Dokumente für {1}, also kann niemand sagen, welches gilt; klären Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} holds several documents with the _id {1}{2}; its list shows all of them.</source>
      <translation>{0} enthält mehrere Dokumente mit der _id {1}{2}; die Liste zeigt sie alle.</translation>
    </message>
    <message>
      <source>{0} holds several documents with the same {1}: {2}{3}. Settle these duplicates first, then create the index.</source>
      <translation>{0} enthält mehrere Dokumente mit demselben {1}: {2}{3}. Klären Sie zuerst diese Duplikate, und legen Sie dann den Index an.</translation>
    </message>
    <message>
      <source>{0} holds something that is not a version</source>
      <translation>{0} enthält etwas, das keine Version ist</translation>
    </message>
    <message>
      <source>{0} holds the current version of {1}</source>
      <translation>{0} enthält die aktuelle Version von {1}</translation>
    </message>
    <message>
      <source>{0} holds the earlier versions of {1} and is written by saving documents there.</source>
      <translation>{0} enthält die früheren Versionen von {1} und wird durch das Speichern von Dokumenten dort geschrieben.</translation>
    </message>
    <message>
      <source>{0} holds the earlier versions of {1}; change the documents there.</source>
      <translation>{0} enthält die früheren Versionen von {1}; ändern Sie die Dokumente dort.</translation>
    </message>
    <message>
      <source>{0} holds the earlier versions of {1}; compare and copy the documents there.</source>
      <translation>{0} enthält die früheren Versionen von {1}; vergleichen und kopieren Sie die Dokumente dort.</translation>
    </message>
    <message>
      <source>{0} holds the earlier versions of {1}; name that collection.</source>
      <translation>{0} enthält die früheren Versionen von {1}; nennen Sie jene Sammlung.</translation>
    </message>
    <message>
      <source>{0} holds the history of {1}, which {2} writes.</source>
      <translation>{0} enthält den Verlauf von {1}, den {2} schreibt.</translation>
    </message>
    <message>
      <source>{0} holds the history of {1}; export {2} into another file.</source>
      <translation>{0} enthält den Verlauf von {1}; exportieren Sie {2} in eine andere Datei.</translation>
    </message>
    <message>
      <source>{0} holds the history of {1}; export {2} into another folder.</source>
      <translation>{0} enthält den Verlauf von {1}; exportieren Sie {2} in einen anderen Ordner.</translation>
    </message>
    <message>
      <source>{0} holds the largest number there is in {1}; mend that first.</source>
      <translation>{0} enthält in {1} die größte Zahl, die es gibt; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} holds versions of {1}; name that collection.</source>
      <translation>{0} enthält Versionen von {1}; nennen Sie jene Sammlung.</translation>
    </message>
    <message>
      <source>{0} holds what is not an earlier version of {1}; a person has to look at it.</source>
      <translation>{0} enthält etwas, das keine frühere Version von {1} ist; ein Mensch muss es ansehen.</translation>
    </message>
    <message>
      <source>{0} holds {1}</source>
      <translation>{0} enthält {1}</translation>
    </message>
    <message>
      <source>{0} holds {1} already, and the unique index {2} lets no other document have it; choose another value.</source>
      <translation>{0} enthält {1} schon, und der eindeutige Index {2} lässt es kein anderes Dokument haben; wählen Sie einen anderen Wert.</translation>
    </message>
    <message>
      <source>{0} holds {1} now.</source>
      <translation>{0} enthält jetzt {1}.</translation>
    </message>
    <message>
      <source>{0} holds {1}, above the current {2}: a phantom that an edit must not overwrite. Settle it in Repairs first.</source>
      <translation>{0} enthält {1}, über dem aktuellen {2}: ein Phantom, das keine Bearbeitung überschreiben darf. Klären Sie es zuerst in den Reparaturen.</translation>
    </message>
    <message>
      <source>{0} holds {1}, the lock of another program, which moves with every edit by itself; edit the fields beside it one by one.</source>
      <translation>{0} enthält {1}, die Sperre eines anderen Programms, die bei jeder Bearbeitung von selbst weiterläuft; bearbeiten Sie die Felder daneben einzeln.</translation>
    </message>
    <message>
      <source>{0} holds {1}, which a repair took out; undo that repair to put it back.</source>
      <translation>{0} enthält {1}, das eine Reparatur herausnahm; machen Sie diese Reparatur rückgängig, um es zurückzulegen.</translation>
    </message>
    <message>
      <source>{0} in any order</source>
      <translation>{0} in beliebiger Reihenfolge</translation>
    </message>
    <message>
      <source>{0} in the archive</source>
      <translation>{0} im Archiv</translation>
    </message>
    <message>
      <source>{0} in the document</source>
      <translation>{0} im Dokument</translation>
    </message>
    <message>
      <source>{0} in {1} is not a sequence: tokens wait in its list {2}, so {3} counts events. Count one with `palimpsest count`.</source>
      <translation>{0} in {1} ist keine Nummernfolge: In der Liste {2} warten Token, also zählt {3} Ereignisse. Zählen Sie eines mit `palimpsest count`.</translation>
    </message>
    <message>
      <source>{0} in {1} looks like the lock of another program inside an array, which no edit from here can move; if it is none, state guard = { field = "{2}", how = "none" } in a profile.</source>
      <translation>{0} in {1} sieht nach der Sperre eines anderen Programms in einem Array aus, die von hier aus nicht bewegt werden kann; wenn es keine ist, geben Sie guard = { field = "{2}", how = "none" } in einem Profil an.</translation>
    </message>
    <message>
      <source>{0} in {1} looks like the lock of another program, and nothing states how it moves; state guard = { field = "{2}", how = "inc" } in a profile, or how = "uuid" where each write makes a new one, "time" where it is the time of the write, or "none" where it is an ordinary field.</source>
      <translation>{0} in {1} sieht wie die Sperre eines anderen Programms aus, und nichts gibt an, wie sie weiterläuft; geben Sie guard = { field = "{2}", how = "inc" } in einem Profil an, oder how = "uuid", wo jeder Schreibvorgang eine neue bildet, "time", wo sie die Zeit des Schreibvorgangs ist, oder "none", wo es ein gewöhnliches Feld ist.</translation>
    </message>
    <message>
      <source>{0} in {1}, above the current {2}</source>
      <translation>{0} in {1}, über dem aktuellen {2}</translation>
    </message>
    <message>
      <source>{0} in {1}, the name of a write token, is of the type {2} there and not an ObjectId.</source>
      <translation>{0} in {1}, der Name eines Schreibtokens, ist dort vom Typ {2} und keine ObjectId.</translation>
    </message>
    <message>
      <source>{0} in {1}, the same as the current one</source>
      <translation>{0} in {1}, gleich der aktuellen</translation>
    </message>
    <message>
      <source>{0} is a document again, as {1}.</source>
      <translation>{0} ist wieder ein Dokument, als {1}.</translation>
    </message>
    <message>
      <source>{0} is a dump, opened read-only; open it into memory (--into-memory) to try changes.</source>
      <translation>{0} ist ein schreibgeschützt geöffneter Dump; laden Sie ihn in den Speicher (--into-memory), um Änderungen auszuprobieren.</translation>
    </message>
    <message>
      <source>{0} is a folder, and no export wrote it; name a file.</source>
      <translation>{0} ist ein Ordner, und kein Export hat ihn geschrieben; nennen Sie eine Datei.</translation>
    </message>
    <message>
      <source>{0} is a git repository that no export wrote; choose another folder.</source>
      <translation>{0} ist ein git-Repository, das kein Export geschrieben hat; wählen Sie einen anderen Ordner.</translation>
    </message>
    <message>
      <source>{0} is a list, and a rename reaches no field in the elements of one.</source>
      <translation>{0} ist eine Liste, und ein Umbenennen erreicht keine Felder in deren Elementen.</translation>
    </message>
    <message>
      <source>{0} is a lock field that the hash in {1} covers.</source>
      <translation>{0} ist ein Sperrfeld, das der Hash in {1} einschließt.</translation>
    </message>
    <message>
      <source>{0} is a new counter.</source>
      <translation>{0} ist ein neuer Zähler.</translation>
    </message>
    <message>
      <source>{0} is a part of the document's id, and cannot change; remove it from the edit.</source>
      <translation>{0} ist ein Teil der Id des Dokuments und bleibt, wie es ist; nehmen Sie es aus der Bearbeitung heraus.</translation>
    </message>
    <message>
      <source>{0} is a placeholder of Atlas: put a database user's name in its place, without &lt; and &gt;.</source>
      <translation>{0} ist ein Platzhalter von Atlas: Setzen Sie an seine Stelle den Namen eines Datenbankbenutzers, ohne &lt; und &gt;.</translation>
    </message>
    <message>
      <source>{0} is a placeholder of Atlas: put the user's password in its place, without &lt; and &gt;.</source>
      <translation>{0} ist ein Platzhalter von Atlas: Setzen Sie an seine Stelle das Passwort des Benutzers, ohne &lt; und &gt;.</translation>
    </message>
    <message>
      <source>{0} is a value of type {1} and has no {2} inside.</source>
      <translation>{0} ist ein Wert vom Typ {1} und hat kein {2} in sich.</translation>
    </message>
    <message>
      <source>{0} is a value of type {1}, not a list; mend it by hand.</source>
      <translation>{0} ist ein Wert vom Typ {1} und keine Liste; berichtigen Sie es von Hand.</translation>
    </message>
    <message>
      <source>{0} is a value of type {1}, not a list; mend that first.</source>
      <translation>{0} ist ein Wert vom Typ {1} und keine Liste; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} is a view, which can only be read; pick a layout for the collection behind it.</source>
      <translation>{0} ist eine Ansicht und lässt sich nur lesen; wählen Sie ein Layout für die Sammlung dahinter.</translation>
    </message>
    <message>
      <source>{0} is a write token</source>
      <translation>{0} ist ein Schreib-Token</translation>
    </message>
    <message>
      <source>{0} is a {1}, not a list</source>
      <translation>{0} ist {1} und keine Liste</translation>
    </message>
    <message>
      <source>{0} is a {1}, not a list of earlier versions; mend that before editing.</source>
      <translation>{0} ist {1} und keine Liste früherer Versionen; beheben Sie das vor dem Bearbeiten.</translation>
    </message>
    <message>
      <source>{0} is a {1}, not a version</source>
      <translation>{0} ist ein {1} und keine Version</translation>
    </message>
    <message>
      <source>{0} is about JSON; say over = "json" with it, or leave it out</source>
      <translation>bei {0} geht es um JSON; geben Sie dazu over = "json" an, oder lassen Sie es weg</translation>
    </message>
    <message>
      <source>{0} is another collection than the one that was scanned: it was created again since, or this address leads to another server now; scan again.</source>
      <translation>{0} ist eine andere Sammlung als die geprüfte: Sie wurde seitdem neu angelegt, oder diese Adresse führt jetzt zu einem anderen Server; prüfen Sie erneut.</translation>
    </message>
    <message>
      <source>{0} is archived</source>
      <translation>{0} wird archiviert</translation>
    </message>
    <message>
      <source>{0} is as it was before the {1}.</source>
      <translation>{0} ist, wie es vor dem Vorgang war ({1}).</translation>
    </message>
    <message>
      <source>{0} is as it was read, and the delete may arrive.</source>
      <translation>{0} ist, wie es gelesen wurde, und das Löschen kann noch ankommen.</translation>
    </message>
    <message>
      <source>{0} is as it was read, and the edit may arrive.</source>
      <translation>{0} ist, wie es gelesen wurde, und die Bearbeitung kann noch ankommen.</translation>
    </message>
    <message>
      <source>{0} is at {1}, not at the base of this edit; nothing was written.</source>
      <translation>{0} steht bei {1}, nicht bei der Basis dieser Bearbeitung; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} is at {1}, not at the base of this; nothing was written.</source>
      <translation>{0} ist bei {1}, nicht bei der Grundlage hiervon; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} is being moved here.</source>
      <translation>{0} zieht gerade hierher um.</translation>
    </message>
    <message>
      <source>{0} is changed, and {1} so far; look for this write again. {2}</source>
      <translation>{0} ist geändert, und bisher gilt: {1}; suchen Sie noch einmal nach diesem Schreibvorgang. {2}</translation>
    </message>
    <message>
      <source>{0} is cut off in the middle of document {1}, which begins at byte {2}; {3}, or keep only its first {4} bytes.</source>
      <translation>{0} ist mitten in Dokument {1} abgeschnitten, das bei Byte {2} beginnt; {3}, oder behalten Sie nur die ersten {4} Bytes.</translation>
    </message>
    <message>
      <source>{0} is cut off or damaged ({1}); the documents before that, {2}, are shown.</source>
      <translation>{0} ist abgeschnitten oder beschädigt ({1}); die Dokumente davor, {2}, werden gezeigt.</translation>
    </message>
    <message>
      <source>{0} is cut off or damaged: {1}; dump it again. What comes before is shown.</source>
      <translation>{0} ist abgeschnitten oder beschädigt: {1}; erstellen Sie den Dump neu. Was davor kommt, wird gezeigt.</translation>
    </message>
    <message>
      <source>{0} is cut off: its gzip data ends too early; copy it or {1}.</source>
      <translation>{0} ist abgeschnitten: Die gzip-Daten enden zu früh; kopieren Sie es neu, oder {1}.</translation>
    </message>
    <message>
      <source>{0} is cut off: {1}; export it again.</source>
      <translation>{0} ist abgeschnitten: {1}; exportieren Sie es neu.</translation>
    </message>
    <message>
      <source>{0} is damaged and cannot be set aside ({1}); move it away.</source>
      <translation>{0} ist beschädigt und kann nicht beiseitegelegt werden ({1}); verschieben Sie die Datei.</translation>
    </message>
    <message>
      <source>{0} is damaged and was set aside, so this could not be done; try again.</source>
      <translation>{0} ist beschädigt und wurde beiseitegelegt, darum konnte dies nicht getan werden; versuchen Sie es noch einmal.</translation>
    </message>
    <message>
      <source>{0} is damaged gzip data ({1}); copy it or {2}.</source>
      <translation>{0} enthält beschädigte gzip-Daten ({1}); kopieren Sie es neu, oder {2}.</translation>
    </message>
    <message>
      <source>{0} is damaged or from another version of the program; it was set aside as {1} and is not used.</source>
      <translation>{0} ist beschädigt oder stammt von einer anderen Version des Programms; die Datei wurde als {1} beiseitegelegt und wird nicht benutzt.</translation>
    </message>
    <message>
      <source>{0} is damaged: document {1}, at byte {2}, is not a BSON document; {3}, or keep only its first {4} bytes.</source>
      <translation>{0} ist beschädigt: Dokument {1} bei Byte {2} ist kein BSON-Dokument; {3}, oder behalten Sie nur die ersten {4} Bytes.</translation>
    </message>
    <message>
      <source>{0} is deleted</source>
      <translation>{0} wird gelöscht</translation>
    </message>
    <message>
      <source>{0} is deleted as {1}. All its versions stay; restore one to bring it back.</source>
      <translation>{0} ist als {1} gelöscht. Alle seine Versionen bleiben; stellen Sie eine wieder her, um es zurückzubringen.</translation>
    </message>
    <message>
      <source>{0} is deleted in {1}, and not in {2}.</source>
      <translation>{0} ist in {1} gelöscht und in {2} nicht.</translation>
    </message>
    <message>
      <source>{0} is deleted, and some of its versions are left; {1}. {2}</source>
      <translation>{0} ist gelöscht, und einige seiner Versionen sind noch da; {1}. {2}</translation>
    </message>
    <message>
      <source>{0} is deleted, and somebody archived another version of it meanwhile; {1}.</source>
      <translation>{0} ist gelöscht, und jemand hat inzwischen eine weitere Version davon archiviert; {1}.</translation>
    </message>
    <message>
      <source>{0} is deleted, and {1} keeps nothing of deleted documents; choose another.</source>
      <translation>{0} ist gelöscht, und {1} behält nichts von gelöschten Dokumenten; wählen Sie ein anderes.</translation>
    </message>
    <message>
      <source>{0} is deleted, and {1} of its versions are there; {2}.</source>
      <translation>{0} ist gelöscht, und {1} seiner Versionen sind noch da; {2}.</translation>
    </message>
    <message>
      <source>{0} is deleted, some of its versions are left. {1}</source>
      <translation>{0} ist gelöscht, einige seiner Versionen sind noch da. {1}</translation>
    </message>
    <message>
      <source>{0} is deleted.</source>
      <translation>{0} ist gelöscht.</translation>
    </message>
    <message>
      <source>{0} is deleted. {1}</source>
      <translation>{0} ist gelöscht. {1}</translation>
    </message>
    <message>
      <source>{0} is deleted; restore a whole version of it first, then single fields.</source>
      <translation>{0} ist gelöscht; stellen Sie zuerst eine ganze Version wieder her, dann einzelne Felder.</translation>
    </message>
    <message>
      <source>{0} is deleted; restore it first.</source>
      <translation>{0} ist gelöscht; stellen Sie es zuerst wieder her.</translation>
    </message>
    <message>
      <source>{0} is deleted; somebody else deleted it at the same time.</source>
      <translation>{0} ist gelöscht; jemand anderes hat es gleichzeitig gelöscht.</translation>
    </message>
    <message>
      <source>{0} is far from full now.</source>
      <translation>{0} ist jetzt längst nicht voll.</translation>
    </message>
    <message>
      <source>{0} is fed from the change stream from now on.</source>
      <translation>{0} wird ab jetzt aus dem Change Stream gefüttert.</translation>
    </message>
    <message>
      <source>{0} is fed from the change stream, going on behind the event{1}.</source>
      <translation>{0} wird aus dem Change Stream gefüttert, weiter nach dem Ereignis{1}.</translation>
    </message>
    <message>
      <source>{0} is given {1} by this plan too, and the unique index {2} lets no other document have it; choose another value.</source>
      <translation>{0} bekommt durch diesen Plan auch {1}, und der eindeutige Index {2} lässt es kein anderes Dokument haben; wählen Sie einen anderen Wert.</translation>
    </message>
    <message>
      <source>{0} is gone and its archive is not. Was it deleted by mistake, so that {1} should be a document again?</source>
      <translation>{0} gibt es nicht mehr, sein Archiv schon. Wurde es versehentlich gelöscht, so dass {1} wieder ein Dokument sein soll?</translation>
    </message>
    <message>
      <source>{0} is gone, and it is not known what happened to the token.</source>
      <translation>{0} ist fort, und niemand kann sagen, was aus dem Token wurde.</translation>
    </message>
    <message>
      <source>{0} is gone, so its archive is all there is of it.</source>
      <translation>{0} ist weg; das Archiv ist alles, was davon da ist.</translation>
    </message>
    <message>
      <source>{0} is gone, so nothing stands above it.</source>
      <translation>{0} ist weg, also steht nichts darüber.</translation>
    </message>
    <message>
      <source>{0} is gone.</source>
      <translation>{0} ist weg.</translation>
    </message>
    <message>
      <source>{0} is held, so all of its versions stay.</source>
      <translation>{0} ist zurückgehalten, also bleiben alle Versionen.</translation>
    </message>
    <message>
      <source>{0} is in order now.</source>
      <translation>{0} ist jetzt geordnet.</translation>
    </message>
    <message>
      <source>{0} is in {1} and not in {2}.</source>
      <translation>{0} ist in {1} und nicht in {2}.</translation>
    </message>
    <message>
      <source>{0} is in {1} now.</source>
      <translation>{0} ist jetzt in {1}.</translation>
    </message>
    <message>
      <source>{0} is in {1} with different contents; a person has to decide which is right.</source>
      <translation>{0} steht in {1} mit verschiedenen Inhalten; ein Mensch muss sagen, welcher richtig ist.</translation>
    </message>
    <message>
      <source>{0} is inserted</source>
      <translation>{0} wird eingefügt</translation>
    </message>
    <message>
      <source>{0} is inserted, which says that the document is deleted</source>
      <translation>{0} wird eingefügt und besagt, dass das Dokument gelöscht ist</translation>
    </message>
    <message>
      <source>{0} is inserted, with what changed</source>
      <translation>{0} wird eingefügt, mit dem, was sich änderte</translation>
    </message>
    <message>
      <source>{0} is inside of {1}</source>
      <translation>{0} liegt in {1}</translation>
    </message>
    <message>
      <source>{0} is kept by the layout and is no content of a version; leave it out.</source>
      <translation>{0} führt das Layout selbst, es ist kein Inhalt einer Version; lassen Sie es weg.</translation>
    </message>
    <message>
      <source>{0} is larger than {1}, which is more than such a file holds; name another one.</source>
      <translation>{0} ist größer als {1}, mehr, als eine solche Datei enthält; nennen Sie eine andere.</translation>
    </message>
    <message>
      <source>{0} is longer than any age can be.</source>
      <translation>{0} ist länger, als ein Alter sein kann.</translation>
    </message>
    <message>
      <source>{0} is meant to hold the current version too.</source>
      <translation>{0} soll auch die aktuelle Version enthalten.</translation>
    </message>
    <message>
      <source>{0} is missing before it.</source>
      <translation>{0} fehlt davor.</translation>
    </message>
    <message>
      <source>{0} is named as the history of {1}. {2}</source>
      <translation>{0} heißt wie die Historie von {1}. {2}</translation>
    </message>
    <message>
      <source>{0} is named twice; keep one of them.</source>
      <translation>{0} ist zweimal genannt; behalten Sie eines davon.</translation>
    </message>
    <message>
      <source>{0} is neither BSON nor text in UTF-8; give a file with one document.</source>
      <translation>{0} ist weder BSON noch Text in UTF-8; nehmen Sie eine Datei mit einem Dokument.</translation>
    </message>
    <message>
      <source>{0} is no operator, and a whole document for all others is not taken: write {"$set": {"{1}": …}}.</source>
      <translation>{0} ist kein Operator, und ein ganzes Dokument anstelle aller anderen wird nicht angenommen: schreiben Sie {"$set": {"{1}": …}}.</translation>
    </message>
    <message>
      <source>{0} is not BSON, or is cut off inside its first document; give a .bson file, or {1}.</source>
      <translation>{0} ist kein BSON oder schon im ersten Dokument abgeschnitten; nehmen Sie eine .bson-Datei, oder {1}.</translation>
    </message>
    <message>
      <source>{0} is not BSON, or is cut off inside its first document; {1}.</source>
      <translation>{0} ist kein BSON oder schon im ersten Dokument abgeschnitten; {1}.</translation>
    </message>
    <message>
      <source>{0} is not BSON: it does not begin with a document; give a .bson file or Extended JSON lines.</source>
      <translation>{0} ist kein BSON: Es beginnt nicht mit einem Dokument; nehmen Sie eine .bson-Datei oder Zeilen mit Extended JSON.</translation>
    </message>
    <message>
      <source>{0} is not a JSON value; write text in double quotes.</source>
      <translation>{0} ist kein JSON-Wert; schreiben Sie Text in doppelten Anführungszeichen.</translation>
    </message>
    <message>
      <source>{0} is not a MongoDB address: a URI begins with mongodb:// or mongodb+srv://.</source>
      <translation>{0} ist keine MongoDB-Adresse: Sie beginnt mit mongodb:// oder mongodb+srv://.</translation>
    </message>
    <message>
      <source>{0} is not a collection; write it as database.collection.</source>
      <translation>{0} ist keine Sammlung; schreiben Sie sie als datenbank.sammlung.</translation>
    </message>
    <message>
      <source>{0} is not a field; write field names with commas between them.</source>
      <translation>{0} ist kein Feld; schreiben Sie Feldnamen mit Kommas dazwischen.</translation>
    </message>
    <message>
      <source>{0} is not a name for a database: {1}.</source>
      <translation>{0} ist kein Name für eine Datenbank: {1}.</translation>
    </message>
    <message>
      <source>{0} is not a namespace: give it as database.collection.</source>
      <translation>{0} ist keine Sammlung: Geben Sie sie als datenbank.sammlung an.</translation>
    </message>
    <message>
      <source>{0} is not a number</source>
      <translation>{0} ist keine Zahl</translation>
    </message>
    <message>
      <source>{0} is not a number of versions; at least the current one stays.</source>
      <translation>{0} ist keine Anzahl von Versionen; mindestens die aktuelle bleibt.</translation>
    </message>
    <message>
      <source>{0} is not a number; settle that first.</source>
      <translation>{0} ist keine Zahl; klären Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} is not a part of a scan; `palimpsest scan SOURCE --range 1/4` writes one.</source>
      <translation>{0} ist kein Teil einer Prüfung; `palimpsest scan SOURCE --range 1/4` schreibt einen.</translation>
    </message>
    <message>
      <source>{0} is not a part of a scan; write 1/4 for the first of four.</source>
      <translation>{0} ist kein Teil einer Prüfung; schreiben Sie 1/4 für den ersten von vieren.</translation>
    </message>
    <message>
      <source>{0} is not a plan of `{1}`.</source>
      <translation>{0} ist kein Plan von `{1}`.</translation>
    </message>
    <message>
      <source>{0} is not a plan of `{1}`: it is not JSON.</source>
      <translation>{0} ist kein Plan von `{1}`: Es ist kein JSON.</translation>
    </message>
    <message>
      <source>{0} is not a pointer</source>
      <translation>{0} ist kein Zeiger</translation>
    </message>
    <message>
      <source>{0} is not a position in a column.</source>
      <translation>{0} ist keine Position in einer Spalte.</translation>
    </message>
    <message>
      <source>{0} is not a repair plan: it does not begin with "palimpsest": "repair plan".</source>
      <translation>{0} ist kein Reparaturplan: Er beginnt nicht mit "palimpsest": "repair plan".</translation>
    </message>
    <message>
      <source>{0} is not a source: give a mongodb:// URI, a dump's folder or file, or sample:.</source>
      <translation>{0} ist keine Quelle: Geben Sie eine Adresse mit mongodb://, Ordner oder Datei eines Dumps oder sample: an.</translation>
    </message>
    <message>
      <source>{0} is not a time; write it as 2026-11-01T14:30:00Z, 2026-11-01T15:30+01:00 or 2026-11-01, or as an age: 36h.</source>
      <translation>{0} ist keine Zeit; schreiben Sie sie als 2026-11-01T14:30:00Z, 2026-11-01T15:30+01:00 oder 2026-11-01, oder als Alter: 36h.</translation>
    </message>
    <message>
      <source>{0} is not a total; name the field that is to be raised.</source>
      <translation>{0} ist keine Summe; nennen Sie das Feld, das erhöht werden soll.</translation>
    </message>
    <message>
      <source>{0} is not a type; choose one of {1}.</source>
      <translation>{0} ist kein Typ; wählen Sie einen von {1}.</translation>
    </message>
    <message>
      <source>{0} is not a whole BSON document: it ends after {1} bytes.</source>
      <translation>{0} ist kein ganzes BSON-Dokument: Es endet nach {1} Byte.</translation>
    </message>
    <message>
      <source>{0} is not a whole archive of mongodump: {1}; dump it again.</source>
      <translation>{0} ist kein ganzes Archiv von mongodump: {1}; erstellen Sie den Dump neu.</translation>
    </message>
    <message>
      <source>{0} is not a whole number. Store it as the number {1}?</source>
      <translation>{0} ist keine ganze Zahl. Als Zahl {1} speichern?</translation>
    </message>
    <message>
      <source>{0} is not a whole plan of `{1}`: {2}.</source>
      <translation>{0} ist kein vollständiger Plan von `{1}`: {2}.</translation>
    </message>
    <message>
      <source>{0} is not a write token: it names {1}</source>
      <translation>{0} ist kein Schreib-Token: Es nennt {1}</translation>
    </message>
    <message>
      <source>{0} is not an age; write it as 24h, 90m or 7d.</source>
      <translation>{0} ist kein Alter; zu schreiben ist es als 24h, 90m oder 7d.</translation>
    </message>
    <message>
      <source>{0} is not an array</source>
      <translation>{0} ist kein Array</translation>
    </message>
    <message>
      <source>{0} is not an object</source>
      <translation>{0} ist kein Objekt</translation>
    </message>
    <message>
      <source>{0} is not as it was opened; nothing was written. {1}</source>
      <translation>{0} ist nicht mehr, wie es geöffnet wurde; es wurde nichts geschrieben. {1}</translation>
    </message>
    <message>
      <source>{0} is not empty, and no export wrote it; choose an empty folder.</source>
      <translation>{0} ist nicht leer, und kein Export hat ihn geschrieben; wählen Sie einen leeren Ordner.</translation>
    </message>
    <message>
      <source>{0} is not expected here</source>
      <translation>{0} wird hier nicht erwartet</translation>
    </message>
    <message>
      <source>{0} is not followed: with over {1} documents it is too large to be compared.</source>
      <translation>{0} wird nicht verfolgt: mit mehr als {1} Dokumenten ist es zu groß, um verglichen zu werden.</translation>
    </message>
    <message>
      <source>{0} is not followed: {1}</source>
      <translation>{0} wird nicht verfolgt: {1}</translation>
    </message>
    <message>
      <source>{0} is not in {1} of {2} any more; nothing was written.</source>
      <translation>{0} steht nicht mehr in {1} von {2}; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} is not in {1}: {2}</source>
      <translation>{0} ist nicht in {1}: {2}</translation>
    </message>
    <message>
      <source>{0} is not known here; write text in double quotes.</source>
      <translation>{0} ist hier unbekannt; schreiben Sie Text in doppelten Anführungszeichen.</translation>
    </message>
    <message>
      <source>{0} is not known to DNS as a MongoDB cluster; check the name and the network.</source>
      <translation>{0} ist im DNS nicht als MongoDB-Cluster bekannt; prüfen Sie den Namen und das Netz.</translation>
    </message>
    <message>
      <source>{0} is not stored any more as it was when its layout was recognised; read it again.</source>
      <translation>{0} ist nicht mehr so gespeichert wie zu der Zeit, als das Layout erkannt wurde; lesen Sie es erneut.</translation>
    </message>
    <message>
      <source>{0} is not taken here: {1}.</source>
      <translation>{0} wird hier nicht angenommen: {1}.</translation>
    </message>
    <message>
      <source>{0} is not text</source>
      <translation>{0} ist kein Text</translation>
    </message>
    <message>
      <source>{0} is not text as git writes it; choose another folder.</source>
      <translation>{0} ist kein Text, wie git ihn schreibt; wählen Sie einen anderen Ordner.</translation>
    </message>
    <message>
      <source>{0} is not text in UTF-8 (byte {1}); save it as UTF-8.</source>
      <translation>{0} ist kein Text in UTF-8 (Byte {1}); speichern Sie ihn als UTF-8.</translation>
    </message>
    <message>
      <source>{0} is not there: give a dump's folder, a .bson file, or a file of Extended JSON lines.</source>
      <translation>{0} ist nicht da: Nehmen Sie den Ordner eines Dumps, eine .bson-Datei oder eine Datei mit Zeilen in Extended JSON.</translation>
    </message>
    <message>
      <source>{0} is open read-only; to edit, reconnect and allow writes.</source>
      <translation>{0} ist schreibgeschützt geöffnet; erlauben Sie zum Bearbeiten beim Verbinden das Schreiben.</translation>
    </message>
    <message>
      <source>{0} is part of the shard key of {1}, and its value decides where the document lies: a guarded write cannot change it, and nothing was written. Leave it as it is, or save as a new document and delete this one.</source>
      <translation>{0} gehört zum Shard-Schlüssel von {1}, und sein Wert bestimmt, wo das Dokument liegt: Ein abgesicherter Schreibvorgang kann ihn nicht ändern, und es wurde nichts geschrieben. Lassen Sie ihn, wie er ist, oder speichern Sie als neues Dokument und löschen Sie dieses.</translation>
    </message>
    <message>
      <source>{0} is purged, all {1} versions of it.</source>
      <translation>{0} ist endgültig gelöscht, alle {1} Versionen davon.</translation>
    </message>
    <message>
      <source>{0} is purged, and created anew since.</source>
      <translation>{0} ist endgültig gelöscht und seither neu angelegt worden.</translation>
    </message>
    <message>
      <source>{0} is purged, with all its versions in {1}.</source>
      <translation>{0} ist endgültig gelöscht, mit allen Versionen in {1}.</translation>
    </message>
    <message>
      <source>{0} is put back</source>
      <translation>{0} wird zurückgelegt</translation>
    </message>
    <message>
      <source>{0} is put back into the archive</source>
      <translation>{0} wird ins Archiv zurückgelegt</translation>
    </message>
    <message>
      <source>{0} is put in order</source>
      <translation>{0} wird geordnet</translation>
    </message>
    <message>
      <source>{0} is removed from the archive</source>
      <translation>{0} wird aus dem Archiv entfernt</translation>
    </message>
    <message>
      <source>{0} is set in every row but the newest, and has to be set in the row before</source>
      <translation>{0} ist in jeder Zeile außer der neuesten gesetzt und muss in der vorigen gesetzt werden</translation>
    </message>
    <message>
      <source>{0} is sharded by {1}, and the document that would be created has no {2} yet; create it with one first. Nothing was written.</source>
      <translation>{0} ist nach {1} aufgeteilt, und das Dokument, das angelegt würde, hat noch kein {2}; legen Sie es zuerst damit an. Es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} is so already; nothing would change.</source>
      <translation>{0} ist schon so; nichts würde sich ändern.</translation>
    </message>
    <message>
      <source>{0} is stored once now; {1}.</source>
      <translation>{0} ist jetzt einmal gespeichert; {1}.</translation>
    </message>
    <message>
      <source>{0} is stored {1} times; settle that first.</source>
      <translation>{0} ist {1}-mal gespeichert; klären Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} is stored {1}, {2}</source>
      <translation>{0} ist {1} gespeichert, {2}</translation>
    </message>
    <message>
      <source>{0} is taken for {1} and not for {2}; say --layout {3}, or state its fields in a profile.</source>
      <translation>{0} wird für {1} gehalten und nicht für {2}; wählen Sie das Layout {3}, oder geben Sie die Felder in einem Profil an.</translation>
    </message>
    <message>
      <source>{0} is taken for {1} here, which has no archive; state its layout.</source>
      <translation>{0} wird hier für {1} gehalten, das kein Archiv hat; geben Sie das Layout an.</translation>
    </message>
    <message>
      <source>{0} is taken for {1} here, which has no array; state its layout.</source>
      <translation>{0} wird hier für {1} gehalten, das kein Array hat; geben Sie das Layout an.</translation>
    </message>
    <message>
      <source>{0} is taken for {1} here, which has no flag; state its layout.</source>
      <translation>{0} wird hier für {1} gehalten, das kein Kennzeichen hat; geben Sie das Layout an.</translation>
    </message>
    <message>
      <source>{0} is taken for {1}, and only stream collections are fed: state it as stream in the profile, or say --layout stream.</source>
      <translation>{0} wird für {1} gehalten, und nur Sammlungen vom Layout stream werden gefüttert: Geben Sie sie im Profil als stream an, oder wählen Sie --layout stream.</translation>
    </message>
    <message>
      <source>{0} is taken for {1}, which is in doubt: {2} of its {3} documents have the same trouble, {4} (as {5}: {6}).</source>
      <translation>{0} gilt als {1}, was zweifelhaft ist: {2} der {3} Dokumente haben denselben Fehler, {4} (wie {5}: {6}).</translation>
    </message>
    <message>
      <source>{0} is taken for {1}, which keeps no earlier versions.</source>
      <translation>{0} wird als {1} gelesen, wo keine früheren Versionen aufbewahrt werden.</translation>
    </message>
    <message>
      <source>{0} is taken out</source>
      <translation>{0} wird herausgenommen</translation>
    </message>
    <message>
      <source>{0} is taken out of the archive</source>
      <translation>{0} wird aus dem Archiv genommen</translation>
    </message>
    <message>
      <source>{0} is the _id of the row before</source>
      <translation>{0} ist die _id der vorigen Zeile</translation>
    </message>
    <message>
      <source>{0} is the hash of the content{1}</source>
      <translation>{0} ist der Hash des Inhalts{1}</translation>
    </message>
    <message>
      <source>{0} is the number; no token waits at the moment.</source>
      <translation>{0} ist die Zahl; zurzeit wartet kein Token.</translation>
    </message>
    <message>
      <source>{0} is the same on both sides.</source>
      <translation>{0} ist auf beiden Seiten gleich.</translation>
    </message>
    <message>
      <source>{0} is there already, with {1}, and no import wrote that; nothing was written.</source>
      <translation>{0} ist schon da, mit {1}, und kein Import hat das geschrieben; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} is there with different contents; a person has to decide which is right.</source>
      <translation>{0} steht dort mit verschiedenen Inhalten; ein Mensch muss sagen, welcher richtig ist.</translation>
    </message>
    <message>
      <source>{0} is there, and it is not known whether it is the same document or one that was made since.</source>
      <translation>{0} ist da, und niemand kann sagen, ob es dasselbe Dokument ist oder eines, das seither entstand.</translation>
    </message>
    <message>
      <source>{0} is too large for a Double; write it as {"$numberDecimal": "{1}"}.</source>
      <translation>{0} ist zu groß für ein Double; schreiben Sie es als {"$numberDecimal": "{1}"}.</translation>
    </message>
    <message>
      <source>{0} is too new for {1}; update PyMongo.</source>
      <translation>{0} ist zu neu für {1}; aktualisieren Sie PyMongo.</translation>
    </message>
    <message>
      <source>{0} is too old for {1}: it speaks version {2} of the protocol, and version {3} is needed, that of MongoDB {4}; PyMongo 4.11 still speaks to MongoDB 4.0 and what is like it.</source>
      <translation>{0} ist zu alt für {1}: Er spricht Version {2} des Protokolls, und nötig ist Version {3}, die von MongoDB {4}; PyMongo 4.11 spricht noch mit MongoDB 4.0 und Ähnlichem.</translation>
    </message>
    <message>
      <source>{0} is where the documents come from; name another collection for them.</source>
      <translation>Aus {0} kommen die Dokumente; nennen Sie für sie eine andere Sammlung.</translation>
    </message>
    <message>
      <source>{0} is {1} already.</source>
      <translation>{0} ist schon {1}.</translation>
    </message>
    <message>
      <source>{0} is {1} and has no room for {2}; set it with an edit.</source>
      <translation>{0} ist {1} und hat keinen Platz für {2}; sagen Sie durch eine Bearbeitung, was es ist.</translation>
    </message>
    <message>
      <source>{0} is {1} and should be {2}</source>
      <translation>{0} ist {1} und müsste {2} sein</translation>
    </message>
    <message>
      <source>{0} is {1} behind.</source>
      <translation>{0} ist {1} hinterher.</translation>
    </message>
    <message>
      <source>{0} is {1} now</source>
      <translation>{0} ist jetzt {1}</translation>
    </message>
    <message>
      <source>{0} is {1} now instead of {2}; its value, {3}, is the same.</source>
      <translation>{0} ist jetzt {1} statt {2}; der Wert, {3}, ist derselbe.</translation>
    </message>
    <message>
      <source>{0} is {1} now.</source>
      <translation>{0} ist jetzt {1}.</translation>
    </message>
    <message>
      <source>{0} is {1}, no number</source>
      <translation>{0} ist {1}, keine Zahl</translation>
    </message>
    <message>
      <source>{0} is {1}, not a file; copy what it gives into a file, and name that.</source>
      <translation>{0} ist {1} und keine Datei; kopieren Sie den Inhalt in eine Datei, und nennen Sie diese.</translation>
    </message>
    <message>
      <source>{0} is {1}, so it cannot be stored whole.</source>
      <translation>{0} ist {1}, kann also nicht vollständig gespeichert werden.</translation>
    </message>
    <message>
      <source>{0} is {1}, which is not a number; set it with an edit.</source>
      <translation>{0} ist {1}, was keine Zahl ist; sagen Sie durch eine Bearbeitung, was es ist.</translation>
    </message>
    <message>
      <source>{0} is {1}, {2} is in use</source>
      <translation>{0} ist {1}, benutzt ist {2}</translation>
    </message>
    <message>
      <source>{0} is {1}; its writer may still be at work.</source>
      <translation>{0} ist {1}; wer es schrieb, ist vielleicht noch am Werk.</translation>
    </message>
    <message>
      <source>{0} is {1}; unpack it, and give the folder or the file that comes out.</source>
      <translation>{0} ist {1}; entpacken Sie es, und geben Sie den Ordner oder die Datei an, die herauskommt.</translation>
    </message>
    <message>
      <source>{0} keeps its branches in an unusual way; choose another folder.</source>
      <translation>{0} hält seine Zweige auf ungewöhnliche Weise; wählen Sie einen anderen Ordner.</translation>
    </message>
    <message>
      <source>{0} keeps only the newest version of a document.</source>
      <translation>{0} behält nur die neueste Version eines Dokuments.</translation>
    </message>
    <message>
      <source>{0} keeps only the newest versions, so the old collection stays.</source>
      <translation>{0} behält nur die neuesten Versionen, daher bleibt die alte Sammlung.</translation>
    </message>
    <message>
      <source>{0} keeps versions already ({1}); adopting is for plain collections.</source>
      <translation>{0} bewahrt schon Versionen auf ({1}); Übernehmen ist für einfache Sammlungen.</translation>
    </message>
    <message>
      <source>{0} keeps {1}, as older versions stay.</source>
      <translation>{0} behält {1}, da ältere Versionen bleiben.</translation>
    </message>
    <message>
      <source>{0} keeps {1}, which the rule of the plan keeps by now.</source>
      <translation>{0} behält {1}, da die Regel des Plans das inzwischen behält.</translation>
    </message>
    <message>
      <source>{0} kinds of value come back byte for byte.</source>
      <translation>{0} Arten von Werten kommen Byte für Byte zurück.</translation>
    </message>
    <message>
      <source>{0} lacks the index that its layout needs.</source>
      <translation>{0} fehlt der Index, den das Layout braucht.</translation>
    </message>
    <message>
      <source>{0} left out</source>
      <translation>{0} ausgelassen</translation>
    </message>
    <message>
      <source>{0} lies in the future.</source>
      <translation>{0} liegt in der Zukunft.</translation>
    </message>
    <message>
      <source>{0} lists each entry once now.</source>
      <translation>{0} führt jetzt jeden Eintrag einmal.</translation>
    </message>
    <message>
      <source>{0} looked up in {1} have several versions, numbered {2} in {3}</source>
      <translation>{0}, in {1} nachgeschlagen, haben mehrere Versionen, in {3} {2} nummeriert</translation>
    </message>
    <message>
      <source>{0} looks like the lock of another program, and nothing states how it moves: see guard in a profile.</source>
      <translation>{0} sieht wie die Sperre eines anderen Programms aus, und nichts gibt an, wie sie weiterläuft: siehe guard in einem Profil.</translation>
    </message>
    <message>
      <source>{0} looks like {1} by {2} and {3}, but also like plain documents: for {4} of {5} ids one {6} is in several documents.</source>
      <translation>{0} sieht nach {1} mit {2} und {3} aus, aber auch nach einfachen Dokumenten: Bei {4} von {5} IDs steht dasselbe {6} in mehreren Dokumenten.</translation>
    </message>
    <message>
      <source>{0} looks like {1}, but with a confidence of {2} only, and {3} are needed to write.</source>
      <translation>{0} sieht nach {1} aus, aber nur mit einer Sicherheit von {2}; zum Schreiben braucht es {3}.</translation>
    </message>
    <message>
      <source>{0} looks like {1}, but {2}.</source>
      <translation>{0} sieht nach {1} aus, aber {2}.</translation>
    </message>
    <message>
      <source>{0} loses {1}</source>
      <translation>{0} verliert {1}</translation>
    </message>
    <message>
      <source>{0} marks the newest row alone, and has to be taken from the row before</source>
      <translation>{0} kennzeichnet nur die neueste Zeile und muss der vorigen genommen werden</translation>
    </message>
    <message>
      <source>{0} marks {1}</source>
      <translation>{0} kennzeichnet {1}</translation>
    </message>
    <message>
      <source>{0} may hold the earlier versions of {1}, and cannot be read. {2}</source>
      <translation>{0} hält vielleicht die früheren Versionen von {1} und lässt sich nicht lesen. {2}</translation>
    </message>
    <message>
      <source>{0} may still carry {1}; the next edit takes it away.</source>
      <translation>{0} trägt vielleicht noch {1}; die nächste Bearbeitung nimmt es weg.</translation>
    </message>
    <message>
      <source>{0} missing</source>
      <translation>{0} fehlen</translation>
    </message>
    <message>
      <source>{0} missing: {1}</source>
      <translation>{0} fehlt: {1}</translation>
    </message>
    <message>
      <source>{0} moved on here since the plan.</source>
      <translation>{0} hat sich hier seit dem Plan geändert.</translation>
    </message>
    <message>
      <source>{0} moved on since the plan ({1} → {2}).</source>
      <translation>{0} ist seit dem Plan weiter ({1} → {2}).</translation>
    </message>
    <message>
      <source>{0} moved on since the plan{1}; make another one.</source>
      <translation>{0} hat sich seit dem Plan verändert{1}; erstellen Sie einen neuen.</translation>
    </message>
    <message>
      <source>{0} moved on there since the plan.</source>
      <translation>{0} hat sich dort seit dem Plan geändert.</translation>
    </message>
    <message>
      <source>{0} moved to {1}; it is {2}.</source>
      <translation>{0} ist nach {1} gerückt; es ist {2}.</translation>
    </message>
    <message>
      <source>{0} must be a text or a list of texts</source>
      <translation>{0} muss ein Text oder eine Liste von Texten sein</translation>
    </message>
    <message>
      <source>{0} must be a text such as shop.invoices:number</source>
      <translation>{0} muss ein Text wie shop.invoices:number sein</translation>
    </message>
    <message>
      <source>{0} must be an object in braces.</source>
      <translation>{0} muss ein Objekt in geschweiften Klammern sein.</translation>
    </message>
    <message>
      <source>{0} must be {1} where values are JavaScript's, which knows no other</source>
      <translation>{0} muss {1} sein, wo die Werte wie in JavaScript sind, das nichts anderes kennt</translation>
    </message>
    <message>
      <source>{0} must be {1}, not {2}</source>
      <translation>{0} muss {1} sein, nicht {2}</translation>
    </message>
    <message>
      <source>{0} must list the names of fields in quotes</source>
      <translation>{0} muss Feldnamen in Anführungszeichen auflisten</translation>
    </message>
    <message>
      <source>{0} names a position, which moves between versions; name fields alone.</source>
      <translation>{0} nennt eine Position, die sich zwischen Versionen verschiebt; nennen Sie nur Felder.</translation>
    </message>
    <message>
      <source>{0} names a stream of events, of which such rows may be a cache</source>
      <translation>{0} nennt einen Strom von Ereignissen, dessen Zwischenspeicher solche Zeilen sein können</translation>
    </message>
    <message>
      <source>{0} names a user and no password; set PALIMPSEST_PASSWORD, give --password-file FILE, or save the connection with its password in the window.</source>
      <translation>{0} nennt einen Benutzer und kein Passwort; setzen Sie PALIMPSEST_PASSWORD, geben Sie --password-file DATEI an, oder speichern Sie die Verbindung mit ihrem Passwort im Fenster.</translation>
    </message>
    <message>
      <source>{0} names an element by a condition; name its position, or $[] for all elements.</source>
      <translation>{0} nennt ein Element durch eine Bedingung; nennen Sie seine Position, oder $[] für alle Elemente.</translation>
    </message>
    <message>
      <source>{0} names the fields that it changes, as in {{1}: {field: …}}.</source>
      <translation>{0} nennt die Felder, die es ändert, etwa {{1}: {field: …}}.</translation>
    </message>
    <message>
      <source>{0} needs a value in brackets, as in {1}.</source>
      <translation>{0} braucht einen Wert in Klammern, wie in {1}.</translation>
    </message>
    <message>
      <source>{0} needs no further index.</source>
      <translation>{0} braucht keinen weiteren Index.</translation>
    </message>
    <message>
      <source>{0} now</source>
      <translation>jetzt {0}</translation>
    </message>
    <message>
      <source>{0} of a document that is gone, up to {1}</source>
      <translation>{0} eines Dokuments, das weg ist, bis {1}</translation>
    </message>
    <message>
      <source>{0} of a wrong type</source>
      <translation>{0} mit falschem Typ</translation>
    </message>
    <message>
      <source>{0} of its documents were removed; run it again.</source>
      <translation>{0} seiner Dokumente wurden entfernt; starten Sie es noch einmal.</translation>
    </message>
    <message>
      <source>{0} of the counter {1} in {2} is {3}, which is not a whole number.</source>
      <translation>{0} des Zählers {1} in {2} ist {3}, was keine ganze Zahl ist.</translation>
    </message>
    <message>
      <source>{0} of this document is not made in the way that is known from here, so the next one cannot be made either; edit it through {1}.</source>
      <translation>{0} dieses Dokuments ist nicht auf die hier bekannte Weise entstanden, daher lässt sich auch das nächste nicht bilden; bearbeiten Sie es über {1}.</translation>
    </message>
    <message>
      <source>{0} of this document is {1} ({2}) and not {3}, as the guard of {4} wants it; mend that first, or state another guard.</source>
      <translation>{0} dieses Dokuments ist {1} ({2}) und nicht, wie guard von {4} es verlangt, {3}; beheben Sie das zuerst, oder geben Sie etwas anderes als guard an.</translation>
    </message>
    <message>
      <source>{0} of {1} as BSON</source>
      <translation>{0} aus {1} als BSON</translation>
    </message>
    <message>
      <source>{0} of {1} as JSON ({2}{3})</source>
      <translation>{0} aus {1} als JSON ({2}{3})</translation>
    </message>
    <message>
      <source>{0} of {1} became {2}.</source>
      <translation>{0} von {1} wurde zu {2}.</translation>
    </message>
    <message>
      <source>{0} of {1} cannot be read ({2}) and was left out.</source>
      <translation>{0} von {1} ist nicht lesbar ({2}) und wurde ausgelassen.</translation>
    </message>
    <message>
      <source>{0} of {1} cannot be read.</source>
      <translation>{0} von {1} ist nicht lesbar.</translation>
    </message>
    <message>
      <source>{0} of {1} cannot be taken back: {2}</source>
      <translation>{0} von {1} kann nicht zurückgenommen werden: {2}</translation>
    </message>
    <message>
      <source>{0} of {1} did not change {2}.</source>
      <translation>{0} von {1} hat {2} nicht geändert.</translation>
    </message>
    <message>
      <source>{0} of {1} documents are in {2} as {3}.</source>
      <translation>{0} von {1} Dokumenten sind in {2} als {3}.</translation>
    </message>
    <message>
      <source>{0} of {1} documents are there again, the next one is not.</source>
      <translation>{0} von {1} Dokumenten sind wieder da, das nächste nicht.</translation>
    </message>
    <message>
      <source>{0} of {1} documents had no {2} then.</source>
      <translation>{0} von {1} Dokumenten hatten damals kein {2}.</translation>
    </message>
    <message>
      <source>{0} of {1} documents of {2} are deleted; purge it once more.</source>
      <translation>{0} von {1} Dokumenten von {2} sind gelöscht; löschen Sie es noch einmal mit allen Versionen.</translation>
    </message>
    <message>
      <source>{0} of {1} documents of {2} are there again; undo the delete once more.</source>
      <translation>{0} von {1} Dokumenten von {2} sind wieder da; nehmen Sie das Löschen noch einmal zurück.</translation>
    </message>
    <message>
      <source>{0} of {1} documents sampled in {2} have {3}, the name of a write token.</source>
      <translation>{0} von {1} Dokumenten der Stichprobe in {2} haben {3}, den Namen eines Schreibtokens.</translation>
    </message>
    <message>
      <source>{0} of {1} has another content here.</source>
      <translation>{0} von {1} hat hier einen anderen Inhalt.</translation>
    </message>
    <message>
      <source>{0} of {1} has another time here.</source>
      <translation>{0} von {1} hat hier eine andere Zeit.</translation>
    </message>
    <message>
      <source>{0} of {1} holds {2}, which has no place below v{3}; settle that first.</source>
      <translation>{0} von {1} enthält {2}, das unter v{3} keinen Platz hat; klären Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} of {1} is a {2}, not a list; mend it by hand.</source>
      <translation>{0} von {1} ist vom Typ {2} und keine Liste; berichtigen Sie es von Hand.</translation>
    </message>
    <message>
      <source>{0} of {1} is applied: {2}.</source>
      <translation>{0} von {1} ist angewendet: {2}.</translation>
    </message>
    <message>
      <source>{0} of {1} is archived.</source>
      <translation>{0} von {1} ist archiviert.</translation>
    </message>
    <message>
      <source>{0} of {1} is damaged ({2}); repair it first.</source>
      <translation>{0} von {1} ist beschädigt ({2}); reparieren Sie es zuerst.</translation>
    </message>
    <message>
      <source>{0} of {1} is left out, because no server of today takes it: {2}.</source>
      <translation>{0} von {1} ist weggelassen, da ihn kein heutiger Server nimmt: {2}.</translation>
    </message>
    <message>
      <source>{0} of {1} is not a version with a number; settle that first.</source>
      <translation>{0} von {1} ist keine Version mit einer Nummer; klären Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} of {1} is not an array, or {2} is not a document; mend that first.</source>
      <translation>{0} von {1} ist kein Array oder {2} kein Dokument; beheben Sie das zuerst.</translation>
    </message>
    <message>
      <source>{0} of {1} is not archived: {2} holds the one of this number that had been taken back. Nothing was overwritten.</source>
      <translation>{0} von {1} ist nicht archiviert: {2} enthält die mit dieser Nummer, die zurückgenommen worden war. Nichts wurde überschrieben.</translation>
    </message>
    <message>
      <source>{0} of {1} is not in {2} for certain: {3}</source>
      <translation>{0} von {1} ist nicht sicher in {2}: {3}</translation>
    </message>
    <message>
      <source>{0} of {1} is not taken back: {2}.</source>
      <translation>{0} von {1} wird nicht zurückgenommen: {2}.</translation>
    </message>
    <message>
      <source>{0} of {1} is stored once now.</source>
      <translation>{0} von {1} ist jetzt einmal gespeichert.</translation>
    </message>
    <message>
      <source>{0} of {1} is there with other contents; nothing was written.</source>
      <translation>{0} von {1} ist mit anderem Inhalt da; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} of {1} is {2}, which is not a number; set it with an edit.</source>
      <translation>{0} von {1} ist {2}, was keine Zahl ist; sagen Sie durch eine Bearbeitung, was es ist.</translation>
    </message>
    <message>
      <source>{0} of {1} of {2} taken back.</source>
      <translation>{0} aus {1} von {2} zurückgenommen.</translation>
    </message>
    <message>
      <source>{0} of {1} stays: {2}.</source>
      <translation>{0} von {1} bleibt: {2}.</translation>
    </message>
    <message>
      <source>{0} of {1} taken back.</source>
      <translation>{0} von {1} zurückgenommen.</translation>
    </message>
    <message>
      <source>{0} of {1} was applied already, nothing was written: {2}.</source>
      <translation>{0} von {1} war schon angewendet, es wurde nichts geschrieben: {2}.</translation>
    </message>
    <message>
      <source>{0} of {1} was deleted before it could be read, and cannot be rebuilt.</source>
      <translation>{0} von {1} wurde gelöscht, bevor sie gelesen werden konnte, und lässt sich nicht nachbilden.</translation>
    </message>
    <message>
      <source>{0} of {1} was in {2} and is gone again; feed once more.</source>
      <translation>{0} von {1} war in {2} und ist wieder weg; füttern Sie noch einmal.</translation>
    </message>
    <message>
      <source>{0} of {1} was overwritten before it could be read, and cannot be rebuilt.</source>
      <translation>{0} von {1} wurde überschrieben, bevor sie gelesen werden konnte, und lässt sich nicht nachbilden.</translation>
    </message>
    <message>
      <source>{0} of {1} was stored once more since</source>
      <translation>{0} von {1} wurde seitdem noch einmal gespeichert</translation>
    </message>
    <message>
      <source>{0} of {1} was taken back: {2}.</source>
      <translation>{0} von {1} wurde zurückgenommen: {2}.</translation>
    </message>
    <message>
      <source>{0} of {1} was {2}, and cannot be proven.</source>
      <translation>{0} von {1} wurde {2} und ist nicht belegbar.</translation>
    </message>
    <message>
      <source>{0} of {1}: nothing is left to take back.</source>
      <translation>{0} von {1}: davon ist nichts mehr zurückzunehmen.</translation>
    </message>
    <message>
      <source>{0} out of order</source>
      <translation>{0} in falscher Reihenfolge</translation>
    </message>
    <message>
      <source>{0} pending since {1}</source>
      <translation>{0} offen seit {1}</translation>
    </message>
    <message>
      <source>{0} pending, {1}</source>
      <translation>{0} offen, {1}</translation>
    </message>
    <message>
      <source>{0} places</source>
      <translation>{0} Stellen</translation>
    </message>
    <message>
      <source>{0} refuses the connection; check the port, and that a server runs there.</source>
      <translation>{0} lehnt die Verbindung ab; prüfen Sie den Port und ob dort ein Server läuft.</translation>
    </message>
    <message>
      <source>{0} rises with time in {1} checked{2}{3}</source>
      <translation>bei der Prüfung steigt {0} in {1} mit der Zeit{2}{3}</translation>
    </message>
    <message>
      <source>{0} row{1} missing</source>
      <translation>fehlende Zeilen: {0}</translation>
    </message>
    <message>
      <source>{0} sampled in {1} {2} {3}, {4} for one.</source>
      <translation>Stichprobe von {1}, {0}: {2} {3}, zum Beispiel {4}.</translation>
    </message>
    <message>
      <source>{0} sampled {1} a name as _id and one whole number, {2}</source>
      <translation>in {0} der Stichprobe stehen ein Name als _id und eine ganze Zahl, {2}</translation>
    </message>
    <message>
      <source>{0} says that the document is deleted, which only layouts with a document for every version can say; its history stays in the old collection.</source>
      <translation>{0} besagt, dass das Dokument gelöscht ist; das können nur Layouts mit einem Dokument je Version ausdrücken, daher bleibt sein Verlauf in der alten Sammlung.</translation>
    </message>
    <message>
      <source>{0} says that {1} is deleted; restore a version before it.</source>
      <translation>{0} besagt, dass {1} gelöscht ist; stellen Sie eine Version davor wieder her.</translation>
    </message>
    <message>
      <source>{0} says what each row did, and does so otherwise in the first</source>
      <translation>{0} sagt, was jede Zeile tat, und in der ersten etwas anderes</translation>
    </message>
    <message>
      <source>{0} sorts {1} otherwise, perhaps by a collation, so it cannot be compared in that order; take another key.</source>
      <translation>{0} sortiert {1} anders, vielleicht nach einer Collation, und kann darum in dieser Reihenfolge nicht verglichen werden; nehmen Sie einen anderen Schlüssel.</translation>
    </message>
    <message>
      <source>{0} ssh says: {1}.</source>
      <translation>{0} ssh sagt: {1}.</translation>
    </message>
    <message>
      <source>{0} stand in another order: {1}.</source>
      <translation>{0} stehen in anderer Reihenfolge: {1}.</translation>
    </message>
    <message>
      <source>{0} stands at {1} again, and {2} holds {3} of it: a failover or a restored backup took back what was written, or the document was deleted and created again. The archive was left as it is, and marked.</source>
      <translation>{0} steht wieder bei {1}, und {2} enthält {3} davon: Ein Ausfall oder eine zurückgespielte Sicherung nahm Geschriebenes zurück, oder das Dokument wurde gelöscht und wieder angelegt. Das Archiv blieb, wie es ist, und wurde markiert.</translation>
    </message>
    <message>
      <source>{0} states {1} in a form that cannot be merged; change it there by hand.</source>
      <translation>{1} steht in {0} so, dass sich nichts hineinmischen lässt; ändern Sie es dort von Hand.</translation>
    </message>
    <message>
      <source>{0} stored twice</source>
      <translation>{0} doppelt gespeichert</translation>
    </message>
    <message>
      <source>{0} takes a whole number from {1} to {2}; {3} is not one.</source>
      <translation>{0} nimmt eine ganze Zahl von {1} bis {2}; {3} ist keine.</translation>
    </message>
    <message>
      <source>{0} takes connections.</source>
      <translation>{0} nimmt Verbindungen an.</translation>
    </message>
    <message>
      <source>{0} takes text, as in {1}.</source>
      <translation>{0} nimmt Text, wie in {1}.</translation>
    </message>
    <message>
      <source>{0} to {1}</source>
      <translation>{0} bis {1}</translation>
    </message>
    <message>
      <source>{0} to {1} are missing before it.</source>
      <translation>{0} bis {1} fehlen davor.</translation>
    </message>
    <message>
      <source>{0} to {1} has no from</source>
      <translation>{0} nach {1} hat kein from</translation>
    </message>
    <message>
      <source>{0} unpacks to more than {1} times its size, as no dump does; if it is meant so, unpack it with gunzip and open the file that comes out.</source>
      <translation>{0} entpackt sich auf mehr als das {1}-Fache seiner Größe, was kein Dump tut; ist das so gemeint, packen Sie es mit gunzip aus, und öffnen Sie die Datei, die herauskommt.</translation>
    </message>
    <message>
      <source>{0} unproven</source>
      <translation>{0} unbelegt</translation>
    </message>
    <message>
      <source>{0} unreadable</source>
      <translation>{0} unlesbar</translation>
    </message>
    <message>
      <source>{0} versions</source>
      <translation>{0} Versionen</translation>
    </message>
    <message>
      <source>{0} versions from {1} to {2}</source>
      <translation>{0} Versionen von {1} bis {2}</translation>
    </message>
    <message>
      <source>{0} versions missing</source>
      <translation>{0} Versionen fehlen</translation>
    </message>
    <message>
      <source>{0} versions of {1} are only in the new place; it stays there.</source>
      <translation>{0} Versionen von {1} sind nur am neuen Ort; es bleibt dort.</translation>
    </message>
    <message>
      <source>{0} versions, v{1} to v{2}: {3}</source>
      <translation>{0} Versionen, v{1} bis v{2}: {3}</translation>
    </message>
    <message>
      <source>{0} wants a user name and password for this, or another user.</source>
      <translation>{0} verlangt dafür Benutzer und Passwort oder einen anderen Benutzer.</translation>
    </message>
    <message>
      <source>{0} was added</source>
      <translation>{0} kam hinzu</translation>
    </message>
    <message>
      <source>{0} was added: {1}.</source>
      <translation>{0} kam hinzu: {1}.</translation>
    </message>
    <message>
      <source>{0} was changed by this plan already.</source>
      <translation>{0} wurde durch diesen Plan schon geändert.</translation>
    </message>
    <message>
      <source>{0} was changed in place ({1}) without a new version, at {2}: its archived version was left as it is.</source>
      <translation>{0} wurde bei {2} ohne neue Version an Ort und Stelle geändert ({1}): Seine archivierte Version blieb, wie sie ist.</translation>
    </message>
    <message>
      <source>{0} was changed in place ({1}) without a new version: its archived version was left as it is.</source>
      <translation>{0} wurde ohne neue Version an Ort und Stelle geändert ({1}): Seine archivierte Version blieb, wie sie ist.</translation>
    </message>
    <message>
      <source>{0} was changed in place since; nothing was written.</source>
      <translation>{0} wurde seitdem an Ort und Stelle geändert; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} was changed in {1} by somebody else.</source>
      <translation>{0} wurde in {1} von jemand anderem geändert.</translation>
    </message>
    <message>
      <source>{0} was changed in {1} by somebody else; settle that by hand.</source>
      <translation>{0} wurde in {1} von jemand anderem geändert; klären Sie das von Hand.</translation>
    </message>
    <message>
      <source>{0} was changed in {1}; what is left of it stays.</source>
      <translation>{0} wurde in {1} geändert; was davon übrig ist, bleibt.</translation>
    </message>
    <message>
      <source>{0} was changed later in {1}; take {2} back by hand.</source>
      <translation>{0} wurde später in {1} geändert; nehmen Sie {2} von Hand zurück.</translation>
    </message>
    <message>
      <source>{0} was changed meanwhile, so it was not written; save once more.</source>
      <translation>{0} wurde inzwischen geändert und daher nicht geschrieben; speichern Sie noch einmal.</translation>
    </message>
    <message>
      <source>{0} was closed</source>
      <translation>{0} wurde geschlossen</translation>
    </message>
    <message>
      <source>{0} was closed while it was read.</source>
      <translation>{0} wurde beim Lesen geschlossen.</translation>
    </message>
    <message>
      <source>{0} was copied by this plan already.</source>
      <translation>{0} hat dieser Plan schon kopiert.</translation>
    </message>
    <message>
      <source>{0} was created again since; none of its versions were put back.</source>
      <translation>{0} wurde seitdem neu angelegt; keine seiner Versionen wurde zurückgelegt.</translation>
    </message>
    <message>
      <source>{0} was created again; nothing was removed.</source>
      <translation>{0} wurde neu angelegt; nichts wurde entfernt.</translation>
    </message>
    <message>
      <source>{0} was created and deleted again since, as {1} shows; nothing was put back. Create it again and restore one of its versions.</source>
      <translation>{0} wurde seitdem neu angelegt und gelöscht, wie {1} zeigt; nichts wurde zurückgelegt. Legen Sie es neu an, und stellen Sie eine seiner Versionen wieder her.</translation>
    </message>
    <message>
      <source>{0} was created by somebody else meanwhile; nothing was written.</source>
      <translation>{0} wurde inzwischen von jemand anderem angelegt; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} was deleted after {1}; its versions stay in {2}.</source>
      <translation>{0} wurde nach {1} gelöscht; seine Versionen bleiben in {2}.</translation>
    </message>
    <message>
      <source>{0} was deleted as {1} in {2}, and its versions are kept; restore one of them to bring it back.</source>
      <translation>{0} wurde als {1} in {2} gelöscht, und seine Versionen sind aufbewahrt; stellen Sie eine davon wieder her, um es zurückzubringen.</translation>
    </message>
    <message>
      <source>{0} was deleted since it was opened; nothing was written.</source>
      <translation>{0} wurde gelöscht, seit es geöffnet wurde; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} was deleted since; undo its deletion first, or restore one of its versions.</source>
      <translation>{0} wurde seitdem gelöscht; nehmen Sie zuerst das Löschen zurück, oder stellen Sie eine seiner Versionen wieder her.</translation>
    </message>
    <message>
      <source>{0} was divided in different ways, as documents came or went meanwhile; scan the parts again.</source>
      <translation>{0} wurde verschieden geteilt, da inzwischen Dokumente kamen oder gingen; prüfen Sie die Teile erneut.</translation>
    </message>
    <message>
      <source>{0} was dropped.</source>
      <translation>{0} wurde gelöscht.</translation>
    </message>
    <message>
      <source>{0} was dropped; {1} is left as it is.</source>
      <translation>{0} wurde gelöscht; {1} bleibt, wie es ist.</translation>
    </message>
    <message>
      <source>{0} was empty, and has its unique index now.</source>
      <translation>{0} war leer und hat jetzt seinen eindeutigen Index.</translation>
    </message>
    <message>
      <source>{0} was made before {1}</source>
      <translation>{0} entstand vor {1}</translation>
    </message>
    <message>
      <source>{0} was made for {1}, and this is {2}; scan here first.</source>
      <translation>{0} wurde für {1} erstellt, und dies ist {2}; prüfen Sie zuerst hier.</translation>
    </message>
    <message>
      <source>{0} was made meanwhile.</source>
      <translation>{0} wurde inzwischen angelegt.</translation>
    </message>
    <message>
      <source>{0} was made of this content and was changed since; nothing was written.</source>
      <translation>{0} wurde aus diesem Inhalt gemacht und seither geändert; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0} was not copied. {1}</source>
      <translation>{0} wurde nicht kopiert. {1}</translation>
    </message>
    <message>
      <source>{0} was not stored as it was sent, so no version is removed.</source>
      <translation>{0} wurde nicht so gespeichert, wie gesendet, also wird keine Version entfernt.</translation>
    </message>
    <message>
      <source>{0} was purged meanwhile; nothing was removed.</source>
      <translation>{0} wurde inzwischen endgültig gelöscht; nichts wurde entfernt.</translation>
    </message>
    <message>
      <source>{0} was put back, as the one that was to stay is gone.</source>
      <translation>{0} wurde zurückgelegt, da das, was bleiben sollte, weg ist.</translation>
    </message>
    <message>
      <source>{0} was removed</source>
      <translation>{0} wurde entfernt</translation>
    </message>
    <message>
      <source>{0} was removed; it was {1}.</source>
      <translation>{0} wurde entfernt; es war {1}.</translation>
    </message>
    <message>
      <source>{0} was renamed.</source>
      <translation>{0} wurde umbenannt.</translation>
    </message>
    <message>
      <source>{0} was renamed; {1} is left as it is.</source>
      <translation>{0} wurde umbenannt; {1} bleibt, wie es ist.</translation>
    </message>
    <message>
      <source>{0} was scanned as another layout than it is taken for here ({1}: {2}, here {3}); give the profile that was scanned with, or scan again.</source>
      <translation>{0} wurde als anderes Layout geprüft, als hier angenommen wird ({1}: {2}, hier {3}); geben Sie das Profil der Prüfung an oder prüfen Sie erneut.</translation>
    </message>
    <message>
      <source>{0} was taken out of {1}; {2}.</source>
      <translation>{0} wurde aus {1} herausgenommen; {2}.</translation>
    </message>
    <message>
      <source>{0} was written again since; nothing more was put back.</source>
      <translation>{0} ist seither wieder geschrieben worden; es wurde nichts weiter zurückgelegt.</translation>
    </message>
    <message>
      <source>{0} was written to while it was read; open it again when it is whole.</source>
      <translation>In {0} wurde beim Lesen geschrieben; öffnen Sie es neu, wenn es ganz ist.</translation>
    </message>
    <message>
      <source>{0} went from {1} to {2}.</source>
      <translation>{0} ging von {1} auf {2}.</translation>
    </message>
    <message>
      <source>{0} without {1} repeated {2}</source>
      <translation>{0} ohne {1} Wiederholungen {2}</translation>
    </message>
    <message>
      <source>{0} would be a {1}, and has been a {2} so far, which {3} may not be able to read; keep its type.</source>
      <translation>{0} würde ein {1} und war bisher ein {2}, was {3} vielleicht nicht lesen kann; behalten Sie den Typ bei.</translation>
    </message>
    <message>
      <source>{0} writers inserted the same key: in {1} of {2} rounds more than one got in ({3} documents for {4} keys).</source>
      <translation>{0} Schreiber fügten denselben Schlüssel ein: In {1} von {2} Runden kam mehr als einer hinein ({3} Dokumente für {2} Schlüssel).</translation>
    </message>
    <message>
      <source>{0} writers swapped the same version: in {1} of {2} rounds more than one was told that it won ({3} wins for {4} versions).</source>
      <translation>{0} Schreiber tauschten dieselbe Version: In {1} von {2} Runden hörte mehr als einer, dass er gewonnen habe ({3} Siege für {4} Versionen).</translation>
    </message>
    <message>
      <source>{0} writers {1}</source>
      <translation>{0} Schreiber {1}</translation>
    </message>
    <message>
      <source>{0} writes would be sent.</source>
      <translation>{0} Schreibvorgänge würden gesendet.</translation>
    </message>
    <message>
      <source>{0} writes {1}: every row sampled has {2}, and each document is what the rows say in the collection called after its {3}.</source>
      <translation>{0} schreibt {1}: Jede Zeile der Stichprobe hat {2}, und jedes Dokument ist so, wie es die Zeilen in der Sammlung sagen, die nach seinem {3} heißt.</translation>
    </message>
    <message>
      <source>{0} writes {1}: every row sampled has {2}, and of {3} document{4} looked at {5} what the rows say</source>
      <translation>{0} schreibt {1}: Jede Zeile der Stichprobe hat {2}; von {3} angesehenen Dokumenten sind so, wie es die Zeilen sagen: {5}</translation>
    </message>
    <message>
      <source>{0} writes.</source>
      <translation>{0} Schreibvorgänge.</translation>
    </message>
    <message>
      <source>{0} {1} Comparing instead.</source>
      <translation>{0} {1} Stattdessen wird verglichen.</translation>
    </message>
    <message>
      <source>{0} {1} cannot be read in all; the other documents, {2}, are shown.</source>
      <translation>{0} Insgesamt können {1} nicht gelesen werden; die übrigen Dokumente, {2}, werden gezeigt.</translation>
    </message>
    <message>
      <source>{0} {1} could not be looked at again: {2}</source>
      <translation>{0} {1} ließ sich nicht noch einmal ansehen: {2}</translation>
    </message>
    <message>
      <source>{0} {1} in {2} now, and the document has {3} MiB. Programs that read {4} themselves find the older ones there.</source>
      <translation>{0} {1} jetzt in {2}, und das Dokument hat {3} MiB. Programme, die {4} selbst lesen, finden die älteren dort.</translation>
    </message>
    <message>
      <source>{0} {1} is fed by polling, which compares versions: those that come and go between two looks are missed, and so are changes of a document that is deleted before the next.</source>
      <translation>{0} {1} wird durch Nachfragen gefüttert, das Versionen vergleicht: Was zwischen zwei Blicken kommt und geht, fehlt, ebenso Änderungen an einem Dokument, das vor dem nächsten gelöscht wird.</translation>
    </message>
    <message>
      <source>{0} {1} of its writes were done; run the plan again.</source>
      <translation>{0} {1} der Schreibvorgänge waren getan; führen Sie den Plan erneut aus.</translation>
    </message>
    <message>
      <source>{0} {1} of this cannot be undone from here. {2}</source>
      <translation>{0} {1} hiervon lassen sich von hier nicht rückgängig machen. {2}</translation>
    </message>
    <message>
      <source>{0} {1} of this cannot be undone on this server. {2}</source>
      <translation>{0} {1} hiervon lassen sich auf diesem Server nicht rückgängig machen. {2}</translation>
    </message>
    <message>
      <source>{0} {1} of {2} versions are deleted.</source>
      <translation>{0} {1} von {2} Versionen sind gelöscht.</translation>
    </message>
    <message>
      <source>{0} {1} of {2} writes were done; import it again to continue.</source>
      <translation>{0} {1} von {2} Schreibvorgängen waren getan; importieren Sie es noch einmal, dann geht es weiter.</translation>
    </message>
    <message>
      <source>{0} {1} pending and applied</source>
      <translation>{0} offen und angewendet</translation>
    </message>
    <message>
      <source>{0} {1} sampled are {2}.</source>
      <translation>{0} {1} der Stichprobe sind {2}.</translation>
    </message>
    <message>
      <source>{0} {1} since the scan{2}</source>
      <translation>{0} {1} seit der Prüfung{2}</translation>
    </message>
    <message>
      <source>{0} {1} the filter now came after the plan, such as {2}.</source>
      <translation>{0} {1} jetzt zum Filter, kam nach dem Plan dazu, etwa {2}.</translation>
    </message>
    <message>
      <source>{0} {1} times</source>
      <translation>{0} {1}-mal</translation>
    </message>
    <message>
      <source>{0} {1} versions are deleted.</source>
      <translation>{0} {1} Versionen sind gelöscht.</translation>
    </message>
    <message>
      <source>{0} {1} was written meanwhile, and what came stays.</source>
      <translation>{0} {1} wurde inzwischen geschrieben, und was kam, bleibt.</translation>
    </message>
    <message>
      <source>{0} {1}, and that a server runs there.</source>
      <translation>{0} {1} und ob dort ein Server läuft.</translation>
    </message>
    <message>
      <source>{0} {1}. The {2} documents before that are shown.</source>
      <translation>{0} {1}. Die {2} Dokumente davor werden gezeigt.</translation>
    </message>
    <message>
      <source>{0} {1}; nothing was written.{2}</source>
      <translation>{0} {1}; es wurde nichts geschrieben.{2}</translation>
    </message>
    <message>
      <source>{0} {1}; try again in a moment.</source>
      <translation>{0} {1}; versuchen Sie es gleich noch einmal.</translation>
    </message>
    <message>
      <source>{0}, and a {1} above theirs in {2} that {3} any</source>
      <translation>{0}, und ein {1} über ihrem steht in {2}, die welche haben</translation>
    </message>
    <message>
      <source>{0}, and a {1} below its own in {2} that {3}</source>
      <translation>{0}, und ein {1} unter dem eigenen steht in {2}, {3}</translation>
    </message>
    <message>
      <source>{0}, and it is not known whether {1} was {2}.</source>
      <translation>{0}, und es ist nicht bekannt, ob {1} {2} wurde.</translation>
    </message>
    <message>
      <source>{0}, answers in {1} ms.</source>
      <translation>{0}, antwortet in {1} ms.</translation>
    </message>
    <message>
      <source>{0}, as {1} of a document</source>
      <translation>{0}, als {1} eines Dokuments</translation>
    </message>
    <message>
      <source>{0}, but its host name is not compared.</source>
      <translation>{0}, aber der Hostname darin wird nicht verglichen.</translation>
    </message>
    <message>
      <source>{0}, but the certificate is not verified: anybody may answer.</source>
      <translation>{0}, aber das Zertifikat wird nicht geprüft: Jeder kann antworten.</translation>
    </message>
    <message>
      <source>{0}, collection {1}</source>
      <translation>{0}, Sammlung {1}</translation>
    </message>
    <message>
      <source>{0}, found by {1} and {2}</source>
      <translation>{0}, gefunden über {1} und {2}</translation>
    </message>
    <message>
      <source>{0}, from {1} to {2}</source>
      <translation>{0}, von {1} auf {2}</translation>
    </message>
    <message>
      <source>{0}, no number</source>
      <translation>{0}, keine Zahl</translation>
    </message>
    <message>
      <source>{0}, rests on {1}</source>
      <translation>{0}, beruht auf {1}</translation>
    </message>
    <message>
      <source>{0}, so the document was put back. {1}</source>
      <translation>{0}, daher wurde das Dokument zurückgelegt. {1}</translation>
    </message>
    <message>
      <source>{0}, so {1} was {2}.</source>
      <translation>{0}, daher wurde {1} {2}.</translation>
    </message>
    <message>
      <source>{0}, stored twice</source>
      <translation>{0}, doppelt gespeichert</translation>
    </message>
    <message>
      <source>{0}, the lock of another program in {1}, stands in a sub-document, which this write cannot move with it; make this change through that program.</source>
      <translation>{0}, die Sperre eines anderen Programms in {1}, steht in einem Unterdokument, das dieser Schreibvorgang nicht mitführen kann; nehmen Sie die Änderung in jenem Programm vor.</translation>
    </message>
    <message>
      <source>{0}, the lock of another program, must still be {1}, and becomes {2}.</source>
      <translation>{0}, die Sperre eines anderen Programms, muss noch {1} sein und wird {2}.</translation>
    </message>
    <message>
      <source>{0}, to {1}; {2} keeps {3}</source>
      <translation>{0}, nach {1}; {2} behält {3}</translation>
    </message>
    <message>
      <source>{0}, which it follows, was removed meanwhile; if {1} is being moved to another layout, move it once more.</source>
      <translation>{0}, worauf sie folgt, wurde inzwischen entfernt; wird {1} gerade in ein anderes Layout verschoben, verschieben Sie es noch einmal.</translation>
    </message>
    <message>
      <source>{0}, which {1} counted already</source>
      <translation>{0}, schon gezählt: {1}</translation>
    </message>
    <message>
      <source>{0}, which {1}, to {2}</source>
      <translation>{0}, das {1}, auf {2}</translation>
    </message>
    <message>
      <source>{0}. Is the content right, so that its hash may be stored beside it?</source>
      <translation>{0}. Stimmt der Inhalt, so dass sein Hash daneben gespeichert werden darf?</translation>
    </message>
    <message>
      <source>{0}. What is the count?</source>
      <translation>{0}. Wie lautet die Zählung?</translation>
    </message>
    <message>
      <source>{0}: "do" is true, false or "{1}", not {2}.</source>
      <translation>{0}: "do" ist true, false oder "{1}", nicht {2}.</translation>
    </message>
    <message>
      <source>{0}: "item" must be {1}, as items are done in the order of their numbers.</source>
      <translation>{0}: "item" muss {1} sein, denn Posten werden in der Reihenfolge ihrer Nummern erledigt.</translation>
    </message>
    <message>
      <source>{0}: Line 1, column 1: {1}.</source>
      <translation>{0}: Zeile 1, Spalte 1: {1}.</translation>
    </message>
    <message>
      <source>{0}: a hash_recipe covers _id only in the layout hashed, where the id is _id.</source>
      <translation>{0}: Ein hash_recipe schließt _id nur im Layout hashed ein, wo die Id _id ist.</translation>
    </message>
    <message>
      <source>{0}: archive must be another collection than ns.</source>
      <translation>{0}: archive muss eine andere Sammlung als ns sein.</translation>
    </message>
    <message>
      <source>{0}: edit = "both" needs row, the fields of the row that an edit writes.</source>
      <translation>{0}: edit = "both" braucht row, die Felder der Zeile, die eine Bearbeitung schreibt.</translation>
    </message>
    <message>
      <source>{0}: fields in another order</source>
      <translation>{0}: Felder in anderer Reihenfolge</translation>
    </message>
    <message>
      <source>{0}: hash differs</source>
      <translation>{0}: Hash weicht ab</translation>
    </message>
    <message>
      <source>{0}: id may be a path into sub-documents in a {1} alone; name a field at the top.</source>
      <translation>{0}: id darf nur bei {1} ein Pfad in Unterdokumente sein; nennen Sie ein Feld auf der obersten Ebene.</translation>
    </message>
    <message>
      <source>{0}: id may list several fields only where versions are documents ({1}); name one.</source>
      <translation>{0}: id darf nur dort mehrere Felder auflisten, wo Versionen Dokumente sind ({1}); nennen Sie eines.</translation>
    </message>
    <message>
      <source>{0}: moved to {1}: {2}</source>
      <translation>{0}: verschoben nach {1}: {2}</translation>
    </message>
    <message>
      <source>{0}: nothing is asked here, so there is no "answer".</source>
      <translation>{0}: Hier wird nichts gefragt, also gibt es kein "answer".</translation>
    </message>
    <message>
      <source>{0}: ns must name a collection as database.collection.</source>
      <translation>{0}: ns muss eine Sammlung als datenbank.sammlung nennen.</translation>
    </message>
    <message>
      <source>{0}: text changed</source>
      <translation>{0}: Text geändert</translation>
    </message>
    <message>
      <source>{0}: the repair for {1} {2}, not {3}.</source>
      <translation>{0}: Die Reparatur für {1} {2}, nicht {3}.</translation>
    </message>
    <message>
      <source>{0}: there is no class {1}; the classes are {2}.</source>
      <translation>{0}: Es gibt keine Klasse {1}; die Klassen sind {2}.</translation>
    </message>
    <message>
      <source>{0}: there is no key {1} here; collections are stated in [[collection]].</source>
      <translation>{0}: Hier gibt es keinen Schlüssel {1}; Sammlungen stehen in [[collection]].</translation>
    </message>
    <message>
      <source>{0}: there is no key {1} here; take it out or mend its name.</source>
      <translation>{0}: Hier gibt es keinen Schlüssel {1}; nehmen Sie ihn heraus oder berichtigen Sie seinen Namen.</translation>
    </message>
    <message>
      <source>{0}: there is no layout {1}; the layouts are {2}.</source>
      <translation>{0}: Es gibt kein Layout {1}; die Layouts sind {2}.</translation>
    </message>
    <message>
      <source>{0}: version may stand inside of _id only where the layout is versions.</source>
      <translation>{0}: version darf nur innerhalb von _id stehen, wo das Layout versions ist.</translation>
    </message>
    <message>
      <source>{0}: write [[collection]] with two brackets, once for each collection.</source>
      <translation>{0}: Schreiben Sie [[collection]] mit zwei Klammern, einmal für jede Sammlung.</translation>
    </message>
    <message>
      <source>{0}: writer must be the name of a program in quotes.</source>
      <translation>{0}: writer muss der Name eines Programms in Anführungszeichen sein.</translation>
    </message>
    <message>
      <source>{0}: {1} and {2} cannot both be {3}.</source>
      <translation>{0}: {1} und {2} können nicht beide {3} sein.</translation>
    </message>
    <message>
      <source>{0}: {1} is not Extended JSON: {2}</source>
      <translation>{0}: {1} ist kein Extended JSON: {2}</translation>
    </message>
    <message>
      <source>{0}: {1} is not an answer to its question; the answers are {2}.</source>
      <translation>{0}: {1} ist keine Antwort auf die Frage; die Antworten sind {2}.</translation>
    </message>
    <message>
      <source>{0}: {1} is stated twice; keep one of them.</source>
      <translation>{0}: {1} steht zweimal da; behalten Sie eines davon.</translation>
    </message>
    <message>
      <source>{0}: {1} keeps several collections in one; say which by where = { "{2}" = "…" }.</source>
      <translation>{0}: {1} führt mehrere Sammlungen in einer; sagen Sie durch where = { "{2}" = "…" }, welche.</translation>
    </message>
    <message>
      <source>{0}: {1} must be a list in brackets.</source>
      <translation>{0}: {1} muss eine Liste in eckigen Klammern sein.</translation>
    </message>
    <message>
      <source>{0}: {1} must be a time such as 2026-05-01T12:00:00+00:00.</source>
      <translation>{0}: {1} muss eine Zeit wie 2026-05-01T12:00:00+00:00 sein.</translation>
    </message>
    <message>
      <source>{0}: {1} must be text in quotes.</source>
      <translation>{0}: {1} muss Text in Anführungszeichen sein.</translation>
    </message>
    <message>
      <source>{0}: {1} must hold a text in quotes for each collection.</source>
      <translation>{0}: {1} muss zu jeder Sammlung einen Text in Anführungszeichen enthalten.</translation>
    </message>
    <message>
      <source>{0}: {1} must hold the layout and the fields of each collection.</source>
      <translation>{0}: {1} muss zu jeder Sammlung das Layout und die Felder enthalten.</translation>
    </message>
    <message>
      <source>{0}; expected a colon after the name {1}.</source>
      <translation>{0}; nach dem Namen {1} wird ein Doppelpunkt erwartet.</translation>
    </message>
    <message>
      <source>{0}; expected a comma or {1}.</source>
      <translation>{0}; erwartet wird ein Komma oder {1}.</translation>
    </message>
    <message>
      <source>{0}; expected a name in double quotes.</source>
      <translation>{0}; erwartet wird ein Name in doppelten Anführungszeichen.</translation>
    </message>
    <message>
      <source>{0}; it is not to be written, see B1</source>
      <translation>{0}; es darf nicht geschrieben werden, siehe B1</translation>
    </message>
    <message>
      <source>{0}; nothing was written.</source>
      <translation>{0}; es wurde nichts geschrieben.</translation>
    </message>
    <message>
      <source>{0}; what was erased so far stays so, run it again for the rest.</source>
      <translation>{0}; was bis jetzt gelöscht ist, bleibt es; führen Sie es für den Rest noch einmal aus.</translation>
    </message>
    <message>
      <source>{0}; write a document on each line, which are read one after the other.</source>
      <translation>{0}; schreiben Sie auf jede Zeile ein Dokument, dann werden sie nacheinander gelesen.</translation>
    </message>
    <message>
      <source>{0}; {1} names {2} looked up there</source>
      <translation>{0}; {1} nennt Dokumente, die dort nachgeschlagen wurden: {2}</translation>
    </message>
    <message>
      <source>{0}open the source with it, as in `palimpsest undo {1} {2}`.</source>
      <translation>{0}öffnen Sie die Quelle damit, wie in `palimpsest undo {1} {2}`.</translation>
    </message>
    <message>
      <source>{0}state it again in the window.</source>
      <translation>{0}geben Sie es im Fenster noch einmal an.</translation>
    </message>
    <message>
      <source>{0}{1} versions in {2} years come to {3} bytes of a document.</source>
      <translation>{0}{1} Versionen in {2} Jahren ergeben {3} Bytes je Dokument.</translation>
    </message>
    <message>
      <source>{0}{1}, and {2} could not be taken out again; scan again later.</source>
      <translation>{0}{1}, und {2} ließ sich nicht wieder herausnehmen; prüfen Sie später erneut.</translation>
    </message>
    <message>
      <source>{part} of {whole} documents</source>
      <translation>{part} von {whole} Dokumenten</translation>
    </message>
    <message>
      <source>{part} of {whole} ids</source>
      <translation>{part} von {whole} Ids</translation>
    </message>
    <message>
      <source>{} does not answer ssh; check the network</source>
      <translation>{} antwortet ssh nicht; prüfen Sie das Netz</translation>
    </message>
    <message>
      <source>{} takes no ssh connection; check host and port</source>
      <translation>{} nimmt keine ssh-Verbindung an; prüfen Sie Host und Port</translation>
    </message>
  </context>
</TS>
